# Completion for the tools: one file for all of them, which bash looks up by the name of each tool.
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = etc/completion/_dat_ofi
EXTRA_DIST += etc/completion/dat_ofi.bash

INSTALL_EXEC_TARGETS += install-completion
UNINSTALL_TARGETS += uninstall-completion

install-completion:
	$(MKDIR_P) "$(DESTDIR)$(bashcompletiondir)"
	$(INSTALL_DATA) $(top_srcdir)/etc/completion/dat_ofi.bash \
		"$(DESTDIR)$(bashcompletiondir)/dat_info"
	cd "$(DESTDIR)$(bashcompletiondir)" && $(LN_S) -f dat_info dat_perf && \
		$(LN_S) -f dat_info dat_run && $(LN_S) -f dat_info dat_top

uninstall-completion:
	cd "$(DESTDIR)$(bashcompletiondir)" && rm -f dat_info dat_perf dat_run dat_top
