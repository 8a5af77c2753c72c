/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the steps of a diagnosis: what was checked, its state, and the lines about it. */
#ifndef INFO_STEPS_H
#define INFO_STEPS_H

#include <stdbool.h>
#include <stddef.h>

enum step_state {
	STEP_OK,
	STEP_NOTE, /* information, not an error */
	STEP_FAIL,
};

struct step {
	const char *name;
	enum step_state state;
	char **lines;
	size_t num_lines;
	bool shared; /* about the machine: the same in every diagnosis */
};

#define MAX_STEPS 10

struct diagnosis {
	struct step steps[MAX_STEPS];
	size_t num_steps;
	bool works;
	char *next; /* the next thing to try */
};

/* Begins a step; steps_add_line adds lines to it. */
void steps_begin(struct diagnosis *d, const char *name, enum step_state state);
__attribute__((format(printf, 2, 3))) void steps_add_line(struct diagnosis *d, const char *format,
							  ...);
void steps_shared(struct diagnosis *d);
void steps_state(struct diagnosis *d, enum step_state state);

/* Keeps the first advice: it belongs to the earliest step that failed. */
__attribute__((format(printf, 2, 3))) void steps_advise(struct diagnosis *d, const char *format,
							...);

/* `again`: a diagnosis before this one showed the shared steps. */
void steps_print(const struct diagnosis *d, bool again);
void steps_json(const struct diagnosis *d);
void steps_free(struct diagnosis *d);

#endif
