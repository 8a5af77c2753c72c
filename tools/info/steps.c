/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps and shows the steps of a diagnosis. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "memory.h"
#include "steps.h"
#include "text.h"

static const char *const state_name[] = { "ok", "note", "FAIL" };
static const char *const state_json[] = { "ok", "note", "fail" };

static char *vformat(const char *format, va_list args)
{
	char text[2048];

	vsnprintf(text, sizeof(text), format, args);
	return info_strdup(text);
}

void steps_begin(struct diagnosis *d, const char *name, enum step_state state)
{
	if (d->num_steps == MAX_STEPS)
		d->num_steps--;
	d->steps[d->num_steps++] = (struct step){ .name = name, .state = state };
}

void steps_add_line(struct diagnosis *d, const char *format, ...)
{
	struct step *step = &d->steps[d->num_steps - 1];
	va_list args;

	step->lines = info_realloc(step->lines, step->num_lines + 1, sizeof(*step->lines));
	va_start(args, format);
	step->lines[step->num_lines++] = vformat(format, args);
	va_end(args);
}

void steps_shared(struct diagnosis *d)
{
	d->steps[d->num_steps - 1].shared = true;
}

void steps_state(struct diagnosis *d, enum step_state state)
{
	d->steps[d->num_steps - 1].state = state;
}

void steps_advise(struct diagnosis *d, const char *format, ...)
{
	va_list args;

	if (d->next)
		return;
	va_start(args, format);
	d->next = vformat(format, args);
	va_end(args);
}

void steps_print(const struct diagnosis *d, bool again)
{
	size_t i, k;
	int at;

	for (i = 0; i < d->num_steps; i++) {
		const struct step *step = &d->steps[i];

		if (again && step->shared)
			continue;
		at = printf("  %-9s  %-4s  ", step->name, state_name[step->state]);
		for (k = 0; k < step->num_lines; k++) {
			if (k)
				printf("%*s", at, "");
			text_wrap(at, at + 2, "%s", step->lines[k]);
		}
		if (!step->num_lines)
			putchar('\n');
	}
	if (again)
		puts("  (libfabric, fabrics, addresses, memlock: see above)");
	text_wrap(printf("\n  %s: ", d->works ? "It works" : "Next"), 4, "%s",
		  d->next ? d->next : "nothing more to try");
}

void steps_json(const struct diagnosis *d)
{
	size_t i, k;

	json_flag("works", d->works);
	json_array("steps");
	for (i = 0; i < d->num_steps; i++) {
		json_object(NULL);
		json_text("step", d->steps[i].name);
		json_text("state", state_json[d->steps[i].state]);
		json_array("found");
		for (k = 0; k < d->steps[i].num_lines; k++)
			json_text(NULL, d->steps[i].lines[k]);
		json_end();
		json_end();
	}
	json_end();
	json_text("next", d->next);
}

void steps_free(struct diagnosis *d)
{
	size_t i, k;

	for (i = 0; i < d->num_steps; i++) {
		for (k = 0; k < d->steps[i].num_lines; k++)
			free(d->steps[i].lines[k]);
		free(d->steps[i].lines);
	}
	free(d->next);
}
