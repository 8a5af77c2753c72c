/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts and checks the notification models of the DTO streams on an EVD. */
#include "object/evd.h"
#include "object/evd_models.h"

#define MODELS \
	((unsigned int)DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG | \
	 DAT_COMPLETION_EVD_THRESHOLD_FLAG)
/* Binds count as requests. */
#define REQUEST_EVENTS (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)

static unsigned int models_model_of(DAT_COMPLETION_FLAGS flags)
{
	return (unsigned int)flags & MODELS;
}

bool dofi_model_valid(DAT_COMPLETION_FLAGS flags)
{
	unsigned int model = models_model_of(flags);

	return !(model & (model - 1));
}

static void models_count(struct dofi_models *m, DAT_COMPLETION_FLAGS flags, bool request,
			 unsigned int by)
{
	unsigned int model = models_model_of(flags);

	m->unsignalled += model == DAT_COMPLETION_UNSIGNALLED_FLAG ? by : 0;
	m->solicited += model == DAT_COMPLETION_SOLICITED_WAIT_FLAG ? by : 0;
	m->threshold += model == DAT_COMPLETION_EVD_THRESHOLD_FLAG ? by : 0;
	m->requests += request ? by : 0;
}

/* Adds `by` (1 or -1) to the counts of the streams of `s` on this EVD. */
static void models_count_on(struct dofi_models *m, const struct dofi_evd *evd,
			    const struct dofi_streams *s, int by)
{
	if (s->recv == evd)
		models_count(m, s->recv_flags, false, (unsigned int)by);
	if (s->req == evd)
		models_count(m, s->req_flags, true, (unsigned int)by);
}

static bool models_agree(const struct dofi_models *m, bool others)
{
	if (m->unsignalled && (m->solicited || m->threshold || others))
		return false;
	return !m->solicited || !(m->threshold || m->requests || others);
}

static bool models_fit_on(const struct dofi_evd *evd, const struct dofi_streams *old,
			  const struct dofi_streams *now)
{
	struct dofi_models m;

	if (!evd)
		return true;
	m = evd->models;
	models_count_on(&m, evd, old, -1);
	models_count_on(&m, evd, now, 1);
	return models_agree(&m, evd->flags & ~REQUEST_EVENTS);
}

bool dofi_models_fit(const struct dofi_streams *old, const struct dofi_streams *now)
{
	return models_fit_on(now->recv, old, now) && models_fit_on(now->req, old, now);
}

static void models_add(const struct dofi_streams *s, int by)
{
	if (s->recv)
		models_count_on(&s->recv->models, s->recv, s, by);
	if (s->req && s->req != s->recv)
		models_count_on(&s->req->models, s->req, s, by);
}

void dofi_models_add(const struct dofi_streams *s)
{
	models_add(s, 1);
}

void dofi_models_remove(const struct dofi_streams *s)
{
	models_add(s, -1);
}

static bool models_fits(const struct dofi_streams *s)
{
	static const struct dofi_streams none;

	return dofi_models_fit(&none, s);
}

void dofi_models_choose(struct dofi_streams *s, bool srq)
{
	static const DAT_COMPLETION_FLAGS in_turn[] = {
		DAT_COMPLETION_UNSIGNALLED_FLAG,
		DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		DAT_COMPLETION_UNSIGNALLED_FLAG,
		DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	struct dofi_evd *req = s->req;

	/* Both directions on one EVD share one model. */
	if (s->recv && s->recv == req) {
		s->recv_flags = s->req_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
		if (!models_fits(s))
			s->recv_flags = s->req_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
		return;
	}
	s->req = NULL;
	for (unsigned int i = srq ? 0 : 1; i < 4; i++) {
		s->recv_flags = in_turn[i];
		if (models_fits(s))
			break;
	}
	s->req = req;
	s->req_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	if (!models_fits(s))
		s->req_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
}
