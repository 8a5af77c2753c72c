# Programs for users, one directory each.
include tools/perf/local.mk
include tools/info/local.mk
include tools/run/local.mk
include tools/top/local.mk
