/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Appends the API version to external names, so that both copies of the sources compiled once per
 * API version can be linked into one program. Included before all other headers.
 */
#ifndef INFO_NAMES_H
#define INFO_NAMES_H

#define INFO_CAT1(name, major) name##_##major
#define INFO_CAT(name, major) INFO_CAT1(name, major)
#define INFO_NAME(name) INFO_CAT(name, DAT_API_MAJOR)

/* libdat's own files */
#define dati_conf_error INFO_NAME(dati_conf_error)
#define dati_conf_free INFO_NAME(dati_conf_free)
#define dati_conf_read INFO_NAME(dati_conf_read)
#define dati_is_rdma_device INFO_NAME(dati_is_rdma_device)
#define dati_legacy_params INFO_NAME(dati_legacy_params)
#define dati_log INFO_NAME(dati_log)
#define dati_only_last_resort INFO_NAME(dati_only_last_resort)
#define dati_rank INFO_NAME(dati_rank)
#define dati_static_all INFO_NAME(dati_static_all)
#define dati_static_drop INFO_NAME(dati_static_drop)
#define dati_static_find INFO_NAME(dati_static_find)
#define dati_static_first INFO_NAME(dati_static_first)
#define dati_static_next INFO_NAME(dati_static_next)
#define dati_static_resolve INFO_NAME(dati_static_resolve)
#define dati_static_serves INFO_NAME(dati_static_serves)
#define dati_static_source INFO_NAME(dati_static_source)
#define dati_static_start INFO_NAME(dati_static_start)
#define dati_static_stop INFO_NAME(dati_static_stop)
#define dati_candidate_origin INFO_NAME(dati_candidate_origin)

/* ours */
#define info_registry_load INFO_NAME(info_registry_load)
#define info_registry_resolve INFO_NAME(info_registry_resolve)
#define info_open_report INFO_NAME(info_open_report)
#define info_attr_report INFO_NAME(info_attr_report)
#define info_calls_report INFO_NAME(info_calls_report)
#define info_run INFO_NAME(info_run)
#define info_run_connect INFO_NAME(info_run_connect)
#define info_run_connections INFO_NAME(info_run_connections)
#define info_run_cookie INFO_NAME(info_run_cookie)
#define info_run_data INFO_NAME(info_run_data)
#define info_run_disconnect INFO_NAME(info_run_disconnect)
#define info_run_dto INFO_NAME(info_run_dto)
#define info_run_effect INFO_NAME(info_run_effect)
#define info_run_end_free INFO_NAME(info_run_end_free)
#define info_run_end_make INFO_NAME(info_run_end_make)
#define info_run_event INFO_NAME(info_run_event)
#define info_run_events INFO_NAME(info_run_events)
#define info_run_local INFO_NAME(info_run_local)
#define info_run_memory INFO_NAME(info_run_memory)
#define info_run_missing INFO_NAME(info_run_missing)
#define info_run_register INFO_NAME(info_run_register)
#define info_run_registry INFO_NAME(info_run_registry)
#define info_run_remote INFO_NAME(info_run_remote)
#define info_run_result INFO_NAME(info_run_result)
#define info_run_srq INFO_NAME(info_run_srq)
#define info_run_wrong INFO_NAME(info_run_wrong)

#endif
