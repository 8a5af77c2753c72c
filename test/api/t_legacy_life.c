/* SPDX-License-Identifier: BSD-2-Clause */
/* What existing programs rely on beyond the calls' descriptions: how they find, load and leave
 * the libraries. One case per habit; connections and data are in the neighbouring files. */
#include "rig.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/* ---- life cycle ---- */

TEST(legacy, life_programs_walk_the_registry_and_failing_entries_are_quick_and_quiet)
{
	static const char *const dead[] = { "dead0", "dead1", "dead2" };
	static DAT_PROVIDER_INFO info[8];
	DAT_PROVIDER_INFO *list[8];
	DAT_EVD_HANDLE async;
	char text[4096], err_path[] = "/tmp/dat-walk-XXXXXX";
	DAT_RETURN ret = API_ERR(DAT_INTERNAL_ERROR, 0);
	DAT_IA_HANDLE ia;
	struct dt_start start;
	DAT_COUNT n, i;
	int fd, old;

	text[0] = 0;
	for (i = 0; i < 3; i++)
		conf_line(text + strlen(text), sizeof(text) - strlen(text), dead[i],
			  provider_path(), "provider=no-such-fabric");
	conf_line(text + strlen(text), sizeof(text) - strlen(text), "alive", provider_path(),
		  fabric_params());
	conf_text(text);
	fd = mkostemp(err_path, O_CLOEXEC);
	ASSERT(fd >= 0);
	old = dup(2);
	dup2(fd, 2);
	for (i = 0; i < 8; i++)
		list[i] = &info[i];
	OK(dat_registry_list_providers(8, &n, list));
	for (i = 0; i < n; i++) {
		/* No listing can know that these are dead: the order is that of the file. */
		if (i < 3)
			ASSERT(!strcmp(info[i].ia_name, dead[i]));
		start = dt_start();
		async = DAT_HANDLE_NULL;
		ret = dat_ia_openv(info[i].ia_name, 8, &async, &ia, info[i].dapl_version_major,
				   info[i].dapl_version_minor, info[i].is_thread_safe);
		if (ret == DAT_SUCCESS)
			break;
		ASSERT(dt_in_time(&start, 500000));
	}
	OK(ret);
	ASSERT(!strcmp(info[i].ia_name, "alive"));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	dup2(old, 2);
	close(old);
	ASSERT_EQ(lseek(fd, 0, SEEK_END), 0);
	close(fd);
	unlink(err_path);
}

TEST(legacy, life_list_providers_with_a_short_maximum_reports_what_it_wrote)
{
	static DAT_PROVIDER_INFO info[2];
	DAT_PROVIDER_INFO *list[2] = { &info[0], NULL };
	DAT_COUNT n = -1;

	OK(dat_registry_list_providers(1, &n, list));
	ASSERT_EQ(n, 1);
	ASSERT(info[0].ia_name[0] != 0);
}

TEST(legacy, life_list_providers_with_maximum_0_gives_the_count_and_INVALID_PARAMETER)
{
	DAT_COUNT n = -1;

	ASSERT_EQ(DAT_GET_TYPE(dat_registry_list_providers(0, &n, NULL)), DAT_INVALID_PARAMETER);
	ASSERT(n >= 1);
}

TEST(legacy, life_strerror_sets_both_strings_for_every_value)
{
	const char *major, *minor;
	DAT_RETURN type, sub;

	for (type = 0; type < 0x40; type++)
		for (sub = 0; sub < 0x80; sub++) {
			major = minor = NULL;
			OK(dat_strerror(DAT_CLASS_ERROR | type << 16 | sub, &major, &minor));
			ASSERT(major != NULL && minor != NULL);
		}
}

/* Runs the loader, which is linked with no DAT library: see load.c. */
static void loader(const char *mode, const char *library, const char *ia)
{
	char *argv[] = { (char *)(uintptr_t)TEST_LOADER, (char *)(uintptr_t)mode,
			 (char *)(uintptr_t)library, (char *)(uintptr_t)ia, NULL };
	int status;
	pid_t pid;

	ASSERT_EQ(posix_spawn(&pid, TEST_LOADER, NULL, NULL, argv, environ), 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		FAIL("%s %s %s %s: status %#x", TEST_LOADER, mode, library, ia, status);
}

TEST(legacy, life_libdat_is_dlopened_with_RTLD_LOCAL_by_every_name)
{
	loader("open", TEST_LIBDAT ".so." API_SOVERSION, ia_name());
	loader("open", TEST_LIBDAT ".so", ia_name());
}

TEST(legacy, life_dlclose_after_a_graceful_close)
{
	loader("close", TEST_LIBDAT ".so." API_SOVERSION, ia_name());
}

TEST(legacy, life_dlclose_with_endpoints_alive)
{
	loader("leave", TEST_LIBDAT ".so." API_SOVERSION, ia_name());
}

TEST(legacy, life_dlclose_and_dlopen_again_many_times)
{
	loader("again", TEST_LIBDAT ".so." API_SOVERSION, ia_name());
}
