# SPDX-License-Identifier: BSD-2-Clause
"""Builds dat-ofi from a directory with its sources, for Spack 1.0 and later (docs/packaging.md)."""

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class DatOfi(AutotoolsPackage):
    """DAT (uDAPL) 1.2 and 2.0 on libfabric: programs written for the user level Direct Access
    Transport API run unchanged on today's fabrics, plain TCP networks included."""

    homepage = "https://libfabric.org"

    license("BSD-2-Clause")

    # Without an address: the sources are those of the directory that "spack develop" names.
    version("1.0.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("autoconf@2.69:", type="build")
    depends_on("automake@1.15:", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconfig", type="build")

    # The build needs the headers; the library is loaded when an adapter is opened.
    depends_on("libfabric@1.14: fabrics=tcp", type=("build", "link", "run"))

    requires("platform=linux", msg="dat-ofi is for Linux")

    def configure_args(self):
        # Whether sys/sdt.h happens to be installed on the machine does not change the result.
        return ["--disable-probes"]

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        # Existing programs find libdat.so.1 and libdat2.so.2 by their names only.
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)
