# SPDX-License-Identifier: BSD-2-Clause
# The options of the scripts that measure for docs/performance.md: -b BUILD, -r ROUNDS. To be sourced
# with ROUNDS set to its default; shifts the options away.
BUILD=$PWD
while getopts 'b:r:' option; do
	case $option in
	b) BUILD=$(cd "$OPTARG" && pwd) || exit 2 ;;
	r) ROUNDS=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
export LD_LIBRARY_PATH=$BUILD/.libs:$BUILD/prov_ofi/dat2/.libs
unset DAPL_OFI_PROVIDER DAPL_OFI_DOMAIN
bad=0
