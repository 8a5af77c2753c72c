/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints which calls work over which adapter in which API version: what the provider has answered
 * when they were made, each adapter in a child process with a time limit.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "fabrics.h"
#include "info.h"
#include "json.h"
#include "memory.h"
#include "text.h"

#define FABRIC_NAME "dat_info"
#define OUR_PROVIDER "dat-ofi"

enum answer {
	ANSWER_ABSENT, /* the API version lacks it */
	ANSWER_YES,
	ANSWER_NO,
	ANSWER_UNTRIED,
};

static const char *const answer_text[] = { "-", "yes", "no", "not tried" };
static const char *const answer_json[] = { "absent", "yes", "no", "not tried" };

/* An adapter in one API version. */
struct column {
	char *name;
	int api;
	struct info_attempt attempt;
};

struct cell {
	enum answer answer;
	const char *result; /* of the call that failed, or why it was not made */
	const struct info_restriction *restriction; /* that explains it; NULL: none */
	bool opened;                                /* the adapter */
	bool wrong; /* the answer and the pages or attributes do not agree */
};

struct table {
	struct info_call *rows;
	size_t num_rows;
	struct column *columns;
	size_t num_columns;
	char **notes;
	size_t num_notes;
};

/* ---- the answers ---- */

/* What the last failed attempt of a call has reported, or else that it works; NULL: not tried. */
static const char *find_answer(const struct info_probe *probe, const struct info_call *row)
{
	char *name = row->use ? info_format("%s/%s", row->name, row->use) : info_strdup(row->name);
	const char *answer = NULL;

	for (size_t i = 0; i < probe->num_facts; i++) {
		const struct info_fact *fact = &probe->facts[i];

		if (strcmp(fact->group, INFO_CALLS_GROUP) || strcmp(fact->name, name))
			continue;
		if (!answer || strcmp(fact->value, INFO_CALLS_YES))
			answer = fact->value;
	}
	free(name);
	return answer;
}

/* The pages describe this project's provider. */
static bool is_ours(const struct info_probe *probe)
{
	const char *name = info_probe_fact(probe, "", "provider");

	return name && !strcmp(name, OUR_PROVIDER);
}

/* It may have failed later. */
static bool column_opened(const struct column *column)
{
	return info_probe_fact(&column->attempt.probe, "", "opened");
}

static const char *why_untried(const struct column *column)
{
	if (column->attempt.probe.end)
		return column->attempt.probe.end;
	return "a call that it depends on failed";
}

static struct cell find_cell(const struct column *column, const struct info_call *row)
{
	const struct info_probe *probe = &column->attempt.probe;
	const struct info_restriction *restriction = info_restriction_find(row->name, row->use);
	const char *answer = find_answer(probe, row);
	struct cell cell = { .answer = ANSWER_UNTRIED, .opened = column_opened(column) };

	if (!row->has[column->api]) {
		cell.answer = ANSWER_ABSENT;
	} else if (!cell.opened) {
		cell.result = column->attempt.reason;
		cell.wrong = true;
	} else if (!answer) {
		cell.result = why_untried(column);
		cell.wrong = column->attempt.probe.end;
	} else if (!strcmp(answer, INFO_CALLS_YES)) {
		cell.answer = ANSWER_YES;
		cell.wrong = restriction && info_restriction_applies(restriction, probe, false);
		cell.restriction = cell.wrong ? restriction : NULL;
	} else {
		cell.answer = ANSWER_NO;
		cell.result = answer;
		if (restriction && !strcmp(answer, restriction->result) &&
		    info_restriction_applies(restriction, probe, true))
			cell.restriction = restriction;
		cell.wrong = is_ours(probe) && !cell.restriction;
	}
	return cell;
}

static char *cell_note(const struct cell *cell)
{
	const struct info_restriction *r = cell->restriction;

	if (cell->answer == ANSWER_YES)
		return r ? info_format("it works, but the attribute %s is %s", r->attribute,
				       r->value)
			 : NULL;
	if (cell->answer == ANSWER_UNTRIED)
		return info_format("%s: %s", cell->opened ? "not tried" : "does not open",
				   cell->result);
	if (cell->answer == ANSWER_ABSENT)
		return NULL;
	if (r && r->attribute)
		return info_format("%s; %s is %s: %s. %s", cell->result, r->attribute, r->value,
				   r->why, r->where);
	if (r)
		return info_format("%s: %s. %s", cell->result, r->why, r->where);
	return info_format("%s%s", cell->result, cell->wrong ? "; no page states this" : "");
}

/* The number of a note; 0: none. */
static size_t note_number(struct table *table, char *text)
{
	if (!text)
		return 0;
	for (size_t i = 0; i < table->num_notes; i++) {
		if (strcmp(table->notes[i], text))
			continue;
		free(text);
		return i + 1;
	}
	table->notes = info_realloc(table->notes, table->num_notes + 1, sizeof(*table->notes));
	table->notes[table->num_notes++] = text;
	return table->num_notes;
}

/* ---- the columns ---- */

static void column_run(struct table *table, const char *name, const struct info_open *what,
		       unsigned int seconds)
{
	unsigned int limit = info_time_limit;
	struct column *column;

	table->columns =
		info_realloc(table->columns, table->num_columns + 1, sizeof(*table->columns));
	column = &table->columns[table->num_columns++];
	column->name = info_strdup(name);
	column->api = what->api;
	info_time_limit = seconds;
	info_attempt_run(&column->attempt, what);
	info_time_limit = limit;
}

static void add_fabric(struct table *table, const struct info_options *opts, const char *fabric)
{
	for (int api = 0; api < INFO_APIS; api++) {
		char *conf = info_conf_line(api, FABRIC_NAME, false, fabric, NULL);
		struct info_open what = {
			.api = api,
			.key = { FABRIC_NAME, info_api[api].major, info_api[api].minor, false },
			.parts = INFO_OPEN_CALLS,
			.conf = conf,
		};

		if (opts->api[api])
			column_run(table, fabric, &what, opts->limit);
		free(conf);
	}
}

static void add_fabrics(struct table *table, const struct info_options *opts)
{
	struct info_fabrics fabrics;

	info_fabrics_find(&fabrics, opts->api[1] ? 1 : 0);
	for (size_t i = 0; i < fabrics.num; i++)
		if (fabrics.list[i].usable)
			add_fabric(table, opts, fabrics.list[i].name);
	if (!table->num_columns)
		fprintf(stderr, "dat_info: no fabric can be used%s%s\n", fabrics.reason ? ": " : "",
			fabrics.reason ? fabrics.reason : "");
	info_fabrics_free(&fabrics);
}

/* False: no API version has the name. */
static bool add_adapter(struct table *table, const struct info_options *opts, const char *name)
{
	bool found = false;

	for (int api = 0; api < INFO_APIS; api++) {
		const struct info_entry *entry = info_registry_find(api, name, opts->threadsafe);
		struct info_open what = { .api = api, .parts = INFO_OPEN_CALLS };

		if (!opts->api[api] || !entry)
			continue;
		found = true;
		what.key = info_key_of(entry);
		column_run(table, name, &what, opts->limit);
	}
	if (!found)
		fprintf(stderr,
			"dat_info: no entry has the name \"%s\"; dat_info -d %s shows more\n", name,
			name);
	return found;
}

/* ---- output ---- */

static void print_heading(const struct table *table, int names, int width)
{
	printf("%-*s", names, "");
	for (size_t i = 0; i < table->num_columns; i++) {
		bool repeated = i && !strcmp(table->columns[i].name, table->columns[i - 1].name);
		bool last = i + 1 == table->num_columns ||
			    strcmp(table->columns[i + 1].name, table->columns[i].name);

		if (repeated)
			continue;
		if (i + (last ? 1 : 2) < table->num_columns)
			printf("  %-*s", last ? width : 2 * width + 2, table->columns[i].name);
		else
			printf("  %s", table->columns[i].name);
	}
	printf("\n%-*s", names, "");
	for (size_t i = 0; i < table->num_columns; i++)
		printf("  %-*s", i + 1 < table->num_columns ? width : 0,
		       info_api[table->columns[i].api].version);
	putchar('\n');
}

/* The text of a cell: the answer and the number of its note. */
static char *cell_text(struct table *table, const struct column *column,
		       const struct info_call *row, bool *wrong)
{
	struct cell cell = find_cell(column, row);
	size_t note = note_number(table, cell_note(&cell));

	*wrong |= cell.wrong;
	return note ? info_format("%s %zu", answer_text[cell.answer], note)
		    : info_strdup(answer_text[cell.answer]);
}

static bool print_table(struct table *table)
{
	size_t cells = table->num_rows * table->num_columns;
	char **text = info_calloc(cells + 1, sizeof(*text));
	int names = 0, width = 0;
	bool wrong = false;
	size_t i;

	for (i = 0; i < table->num_rows; i++)
		names = table->rows[i].use ? text_width(names - 2, table->rows[i].use) + 2
					   : text_width(names, table->rows[i].name);
	for (i = 0; i < cells; i++) {
		text[i] = cell_text(table, &table->columns[i % table->num_columns],
				    &table->rows[i / table->num_columns], &wrong);
		width = text_width(width, text[i]);
	}
	/* Two versions must not be narrower than the name of their adapter. */
	for (i = 0; i < table->num_columns; i++)
		while (2 * width + 2 < (int)strlen(table->columns[i].name))
			width++;
	print_heading(table, names, width);
	for (i = 0; i < cells; i++) {
		const struct info_call *row = &table->rows[i / table->num_columns];
		bool last = (i + 1) % table->num_columns == 0;

		if (i % table->num_columns == 0)
			printf("%s%-*s", row->use ? "  " : "", row->use ? names - 2 : names,
			       row->use ? row->use : row->name);
		printf("  %-*s%s", last ? 0 : width, text[i], last ? "\n" : "");
		free(text[i]);
	}
	free(text);
	for (i = 0; i < table->num_notes; i++) {
		int at = printf("%s%2zu  ", i ? "" : "\n", i + 1);

		text_wrap(i ? at : at - 1, 4, "%s", table->notes[i]);
	}
	return wrong;
}

static bool json_cell(const struct column *column, const struct info_call *row)
{
	struct cell cell = find_cell(column, row);

	json_object(NULL);
	json_text("call", row->name);
	json_text("use", row->use);
	json_text("answer", answer_json[cell.answer]);
	json_text("result", cell.result);
	json_text("attribute", cell.restriction ? cell.restriction->attribute : NULL);
	json_text("why", cell.restriction ? cell.restriction->why : NULL);
	json_text("where", cell.restriction ? cell.restriction->where : NULL);
	json_flag("expected", !cell.wrong);
	json_end();
	return cell.wrong;
}

static bool json_table(const struct table *table)
{
	bool wrong = false;

	json_object(NULL);
	json_array("columns");
	for (size_t i = 0; i < table->num_columns; i++) {
		const struct column *column = &table->columns[i];

		json_object(NULL);
		json_text("adapter", column->name);
		json_text("api", info_api[column->api].version);
		json_flag("opens", column_opened(column));
		json_text("fabric", column->attempt.fabric);
		json_text("device", column->attempt.device);
		json_text("reason", column->attempt.reason);
		json_array("calls");
		for (size_t k = 0; k < table->num_rows; k++)
			wrong |= json_cell(column, &table->rows[k]);
		json_end();
		json_end();
	}
	json_end();
	json_end();
	return wrong;
}

static void table_free(struct table *table)
{
	for (size_t i = 0; i < table->num_columns; i++) {
		free(table->columns[i].name);
		info_attempt_free(&table->columns[i].attempt);
	}
	free(table->columns);
	for (size_t i = 0; i < table->num_notes; i++)
		free(table->notes[i]);
	free(table->notes);
	info_call_rows_free(table->rows, table->num_rows);
}

int info_calls(const struct info_options *opts)
{
	struct table table = { .rows = NULL };
	bool found = true, wrong = false;

	table.rows = info_call_rows(&table.num_rows);
	if (!*opts->names)
		add_fabrics(&table, opts);
	for (char *const *name = opts->names; *name; name++)
		found &= add_adapter(&table, opts, *name);
	if (table.num_columns || opts->json)
		wrong = opts->json ? json_table(&table) : print_table(&table);
	found &= table.num_columns != 0;
	table_free(&table);
	return !found || wrong;
}
