# Completion of the tools, installation, quickstart.sh; by hand, from the top of a build tree:
# test/packaging/completion.sh and so on.
# "make deb-check", which takes minutes, builds the Debian packages, installs and removes them.
if !SANITIZED
TESTS += test/packaging/completion.sh test/packaging/install.sh test/packaging/quickstart.sh \
	test/packaging/dist.sh
nightly_tests += test/packaging/dist.sh
endif
EXTRA_DIST += test/packaging/completion.sh test/packaging/dist.sh test/packaging/deb_check.sh \
	test/packaging/install.sh test/packaging/quickstart.sh packaging/dat-ofi.spec docs/packaging.md \
	packaging/Containerfile .dockerignore \
	packaging/spack/spack_repo/dat_ofi/repo.yaml \
	packaging/spack/spack_repo/dat_ofi/packages/dat_ofi/package.py \
	debian/changelog \
	debian/control \
	debian/copyright \
	debian/dat-ofi-default.install \
	debian/dat-ofi-default.lintian-overrides \
	debian/dat-ofi-default.postinst \
	debian/dat-ofi-default.prerm \
	debian/dat-ofi-default.triggers \
	debian/dat-ofi-doc.install \
	debian/dat-ofi-utils.install \
	debian/libdat-ofi-dev.install \
	debian/libdat1-ofi.install \
	debian/libdat2-ofi.README.Debian \
	debian/libdat2-ofi.install \
	debian/rules \
	debian/source/format

deb-check: dist
	$(top_srcdir)/test/packaging/deb_check.sh $(distdir).tar.xz
.PHONY: deb-check
