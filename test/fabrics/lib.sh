# SPDX-License-Identifier: BSD-2-Clause
# Which fabrics are there, which open here, and how is one named to a test? (sourced by bash)
#
# The callers set BUILD, the build tree.

# These are run by make check and ./quickstart.sh check, and have to open: not being there is a
# failure. All others of fabrics.def are skipped where they do not open.
QUICK_FABRICS=${QUICK_FABRICS:-tcp tcp+shm shm rxm constrained}

FABRICS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SKIPS=$FABRICS_DIR/../api/skips.txt

# all_fabrics: the names, the reference first
all_fabrics()
{
	sed -n 's/^FABRIC("\([^"]*\)".*/\1/p' "$FABRICS_DIR/fabrics.def"
}

# fabric_field NAME N: 1 name, 2 parameters, 3 of an IPv6 adapter, 4 name without dat.conf, 5 traits
fabric_field()
{
	awk -F'"' -v name="$1" -v n="$2" '/^FABRIC\(/ && $2 == name { print $(n * 2) }' \
		"$FABRICS_DIR/fabrics.def"
}

# fabric_has NAME TRAIT
fabric_has()
{
	[[ " $(fabric_field "$1" 5) " == *" $2 "* ]]
}

is_quick()
{
	[[ " $QUICK_FABRICS " == *" $1 "* ]]
}

# fabric_refused NAME: why it does not open here, in one line; nothing if it does
fabric_refused()
{
	local out
	if out=$(timeout 60 "$BUILD/test/fabrics/scenario" --fabric "$1" --open 2>&1); then
		return
	fi
	# libdat's paragraph has a line of the provider's; without one the last line has to do.
	out=$(sed -n 's/^ *provider: //p; $p' <<<"$out" | head -n 1)
	echo "${out:-it does not open, for an unknown reason}"
}

# fabric_skips NAME PIECE: the reason of a line of skips.txt for a piece of the matrix
fabric_skips()
{
	local fabric pattern reason
	while read -r fabric pattern reason; do
		# shellcheck disable=SC2053 # both columns are patterns
		if [[ $fabric != \#* && $1 == $fabric && $2 == $pattern ]]; then
			echo "$reason"
			return
		fi
	done <"$SKIPS"
}
