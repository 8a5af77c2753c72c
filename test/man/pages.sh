#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Are the manual pages sound, complete, and true to headers, settings and examples?
set -u
. "${srcdir:-.}/test/man/lib.sh"
man=$src
inc=$src/include

# ---------------------------------------------------------------- form

is_alias()
{
	[ "$(wc -l <"$1")" -eq 1 ] && grep -q '^\.so man[0-9]/[a-z_]*\.[0-9]$' "$1"
}

pages=
for page in "$man"/man[1357]/*.[1357]; do
	is_alias "$page" || pages="$pages $page"
done

if command -v mandoc >/dev/null 2>&1; then
	for page in $pages; do
		timeout 60 mandoc -Tlint -W warning "$page" >"$dir/log" 2>&1
		verdict $? "mandoc ${page##*/}"
	done
else
	skip 'mandoc' 'not installed'
fi

for page in "$man"/man3/*.3; do
	is_alias "$page" || continue
	name=${page##*/}
	target=$man/$(sed 's/^\.so //' "$page")
	grep -q "^\.Nm ${name%.3}\( ,\)*$" "$target" >"$dir/log" 2>&1
	verdict $? "alias $name"
done

for page in $pages; do
	[ "${page##*.}" = 3 ] || continue
	for section in NAME LIBRARY SYNOPSIS DESCRIPTION PARAMETERS 'RETURN VALUES' VERSIONS \
		FABRICS EXAMPLES 'SEE ALSO' STANDARDS; do
		grep -q "^\.Sh $section\$" "$page" || echo "${page##*/} lacks $section"
	done
	sed -n '/^\.Sh EXAMPLES/,$s/^\.Sh //p' "$page" | sed -n 2p |
		grep -qvx 'SEE ALSO' && echo "${page##*/}: SEE ALSO does not follow EXAMPLES"
done >"$dir/log"
silent 'every page of section 3 has all sections'

# Every cell of a table but the last of its row must fit into its column: renderers do not wrap it.
awk '
	/^\.Bl -column/ {
		n = 0
		while (match($0, /"[^"]*"/)) {
			width[++n] = RLENGTH - 2
			$0 = substr($0, RSTART + RLENGTH)
		}
		tables++
	}
	/^\.El/ { n = 0 }
	n && /^\.It / {
		cells = split(substr($0, 5), cell, / Ta /)
		for (i = 1; i < cells; i++) {
			gsub(/\\&/, "", cell[i])
			gsub(/(^| )(Dv|Em|Cm|Xr|Va|Ev|Sy|Fa) /, " ", cell[i])
			gsub(/^ /, "", cell[i])
			if (length(cell[i]) > width[i])
				print FILENAME ": too wide for column " i ": " cell[i]
		}
	}
	END { if (tables < 4) print "too few tables found" }' $pages >"$dir/log"
silent 'every table has columns as wide as its cells'

# The state machine of EPs: the page shows the transitions that the provider makes.
sed -n 's/^DOFI_EP_TRANSITION(\(.*\), \(.*\), \(.*\))$/\1 \2 \3/p' \
	"$src/prov_ofi/object/ep_state.def" >"$dir/transitions"
sed -n 's/^\.It \([A-Z]*\) Ta \([A-Z_]*\) Ta \([A-Z_]*\)$/\1 \2 \3/p' \
	"$man/man3/dat_ep_get_status.3" >"$dir/shown"
diff "$dir/transitions" "$dir/shown" >"$dir/log"
[ "$(wc -l <"$dir/transitions")" -ge 17 ] || echo 'too few transitions found' >>"$dir/log"
silent 'dat_ep_get_status(3) shows the transitions of object/ep_state.def'

# ---------------------------------------------------------------- completeness

# The exported calls; every one has a page, every page one of them.
sed -n 's/^\t\t\(dats*_[a-z_]*\);$/\1/p' "$src/src/libdat.map" "$src/src/libdat2.map" |
	sort -u >"$dir/calls"
for name in $(cat "$dir/calls"); do
	[ -f "$man/man3/$name.3" ] || echo "$name has no page"
done >"$dir/log"
[ "$(wc -l <"$dir/calls")" -ge 83 ] || echo 'too few calls found' >>"$dir/log"
silent 'every exported call has a page'

for page in "$man"/man3/*.3; do
	name=${page##*/}
	name=${name%.3}
	case $name in
	dat_ia_open | dat_provider_init | dat_provider_fini) ;;
	dat_ib_*)
		grep -q "^#define $name[( ]" "$inc"/dat2/dat_ib_*.h ||
			echo "$name is no macro" ;;
	*) grep -qx "$name" "$dir/calls" || echo "$name is not exported" ;;
	esac
done >"$dir/log"
silent 'every page describes an exported call'

for page in "$man"/man[1357]/*.[1357]; do
	name=${page#"$src"/}
	grep -q "[[:space:]]$name\( \\\\\)*\$" "$man/man3/local.mk" "$man/man7/local.mk" \
		"$src"/tools/*/local.mk || echo "$name is not installed"
done >"$dir/log"
silent 'every page is installed'

sed -n 's/^\.\(It \)*Xr \(dat[a-z_.]*\|prov_ofi\) \([1357]\).*/\2 \3/p' $pages | sort -u |
	while read -r name section; do
		[ -f "$man/man$section/$name.$section" ] || echo "$name($section) is missing"
	done >"$dir/log"
silent 'every reference leads to a page'

# ---------------------------------------------------------------- calls against headers

# synopsis PAGE 1.2|2.0: the prototypes that the page gives for a version, as C
synopsis()
{
	awk -v version="$2" '
		/^\.Sh / { inside = $2 == "SYNOPSIS" }
		!inside { next }
		/^\.(Ss|Pp)/ { mine = /^\.Ss/ && index($0, "uDAPL " version) }
		!mine { next }
		/^\.Ft / { type = substr($0, 5) }
		/^\.Fo / { printf "%s %s(", type, $2; n = 0 }
		/^\.Fa / { gsub(/^\.Fa "|"$/, ""); printf "%s%s", n++ ? ", " : "", $0 }
		/^\.Fc/ { print ");" }' "$1"
}

if command -v "${CC:-cc}" >/dev/null 2>&1; then
	for version in 1.2 2.0; do
		case $version in
		1.2) header=dat ;;
		2.0) header=dat2 ;;
		esac
		{
			echo "#include <$header/udat.h>"
			echo "#include <$header/dat_registry.h>"
			echo "#include <$header/dat_ofi.h>"
			if [ "$header" = dat2 ]; then
				# Their types; the pages show their macros as functions.
				echo '#include <dat2/dat_ib_collectives.h>'
				sed -n 's/^#define \(dat_ib_[a-z_]*\)(.*/#undef \1/p' \
					"$inc/dat2/dat_ib_collectives.h"
			fi
			# Its header has macros of the same names as these pages.
			[ $version = 1.2 ] || echo 'typedef struct ah DAT_IB_ADDR_HANDLE;'
			for page in $pages; do
				[ "${page##*.}" = 3 ] && synopsis "$page" $version
			done
		} >"$dir/proto.c"
		timeout 60 "${CC:-cc}" -Werror -fsyntax-only -I"$inc" "$dir/proto.c" \
			>"$dir/log" 2>&1
		verdict $? "the prototypes of $version agree with its headers"
		# Each call of a version stands in some synopsis of that version.
		for name in $(sed -n 's/^\t\t\(dat_[a-z_]*\);$/\1/p' \
			"$src/src/lib$header.map"); do
			grep -qE "^(DAT_RETURN|const char \*) ?$name\(" "$dir/proto.c" || echo "$name"
		done >"$dir/log"
		silent "every call of $version has a prototype"
	done
else
	skip 'prototypes' 'no C compiler'
fi

# The PARAMETERS section explains exactly the parameters of the SYNOPSIS.
for page in $pages; do
	[ "${page##*.}" = 3 ] || continue
	awk -v page="${page##*/}" '
		/^\.Sh / { section = $2 }
		section == "SYNOPSIS" && /^\.Fa / {
			gsub(/^\.Fa "*|"$|\[\]/, "")
			gsub(/[()*]/, " ")
			n = split($0, word, " ")
			have[word[n]] = 1
		}
		section == "PARAMETERS" && /^\.It Fa / {
			for (i = 3; i <= NF; i++)
				if ($i != ",")
					told[$i] = 1
		}
		END {
			for (name in have)
				if (!(name in told))
					print page ": " name " is not explained"
			for (name in told)
				if (!(name in have))
					print page ": " name " is not a parameter"
		}' "$page"
done >"$dir/log"
silent 'every parameter is explained'

# Names of constants: .Dv NAME anywhere; NAME_* stands for a family.
cat "$inc"/dat/*.h "$inc"/dat2/*.h >"$dir/headers"
grep -ho 'Dv [A-Z][A-Z0-9_]*\**' $pages | sed 's/^Dv //' | sort -u >"$dir/constants"
while read -r name; do
	case $name in
	AF_* | FI_* | SIG* | TCP_*) continue ;;
	*\*) pattern="\<${name%\*}" ;;
	*) pattern="\<$name\>" ;;
	esac
	grep -q "$pattern" "$dir/headers" || echo "$name is in no header"
done <"$dir/constants" >"$dir/log"
[ "$(wc -l <"$dir/constants")" -ge 100 ] || echo 'too few constants found' >>"$dir/log"
silent 'every constant exists'

# ---------------------------------------------------------------- dat_errors(7)

# numbers HEADER: name and number of each subtype
numbers()
{
	sed -n '/^[A-Z_ ]*typedef enum dat_return_subtype/,/^}/p' "$1" |
		sed -n 's/^\t\(DAT_[A-Z0-9_]*\) = \(0x[0-9A-F]*\).*/\1 \2/p' | sort
}

numbers "$inc/dat/dat_error.h" >"$dir/n12"
numbers "$inc/dat2/dat_error.h" >"$dir/n20"
join -a 2 -e - -o 0,1.2,2.2 "$dir/n12" "$dir/n20" >"$dir/want"
sed -n 's/^\.It Dv \(DAT_[A-Z0-9_]*\) Ta \([-0-9A-Fx]*\) Ta \([0-9A-Fx]*\) Ta .*/\1 \2 \3/p' \
	"$man/man7/dat_errors.7" | sort >"$dir/got"
diff "$dir/want" "$dir/got" >"$dir/log"
[ -s "$dir/want" ] || echo 'no subtypes found' >>"$dir/log"
silent 'dat_errors(7) has the number of every subtype'

{
	sed -n '/typedef enum dat_return_type/,/^}/p' "$inc/dat2/dat_error.h"
	sed -n '/typedef enum dat_dto_completion_status/,/^}/p' "$inc/dat2/dat_event.h"
} | sed -n 's/^\t\(DAT_[A-Z0-9_]*\) = .*/\1/p' | grep -v '^DAT_EXTENSION_BASE$' >"$dir/want"
while read -r name; do
	grep -q "^\.It Dv $name\( \|\$\)" "$man/man7/dat_errors.7" || echo "$name is not explained"
done <"$dir/want" >"$dir/log"
[ -s "$dir/want" ] || echo 'no types found' >>"$dir/log"
silent 'dat_errors(7) has every type and every status'

# ---------------------------------------------------------------- settings

param=$src/prov_ofi/base/param.h
sed -n 's/^\tX(\([A-Z_]*\), \([0-9]*\), \([0-9]*\), \([0-9]*\),.*/\1 \2 to \3, default \4./p' \
	"$param" >"$dir/numbers"
sed -n 's/^\tX(\([A-Z_]*\), ".*/\1/p' "$param" >"$dir/strings"
sed -n 's/^\tX(\([A-Z_]*\), \([A-Z_]*\))\( \\\)*$/\1 \2/p' "$param" >"$dir/former"
{
	while read -r name text; do
		sed -n "/^\.It Ev DAPL_OFI_$name\$/{n;p;}" "$man/man7/prov_ofi.7" |
			grep -qxF "$text" || echo "DAPL_OFI_$name: not \"$text\""
	done <"$dir/numbers"
	while read -r name; do
		grep -qx "\.It Ev DAPL_OFI_$name" "$man/man7/prov_ofi.7" ||
			echo "DAPL_OFI_$name is missing"
	done <"$dir/strings"
	while read -r name former; do
		sed -n "/^\.It Ev DAPL_OFI_$name\$/,/^\.It/p" "$man/man7/prov_ofi.7" |
			grep -qxF ".Ev DAPL_OFI_$former ." || echo "$former, former name of $name"
		echo "$former" >>"$dir/strings"
	done <"$dir/former"
	n=$(cat "$dir/numbers" "$dir/strings" | wc -l)
	[ "$n" = "$(grep -c '^	X([A-Z]' "$param")" ] || echo 'settings were not understood'
	[ "$n" -ge 12 ] || echo 'too few settings found'
} >"$dir/log"
silent 'every setting is in prov_ofi(7) with its range and default'

for name in $(grep -ho '\<DAPL_OFI_[A-Z_]*' $pages | sort -u); do
	grep -qxE "${name#DAPL_OFI_}( .*)?" "$dir/numbers" "$dir/strings" 2>/dev/null ||
		cat "$dir/numbers" "$dir/strings" | grep -qE "^${name#DAPL_OFI_}( |\$)" ||
		grep -rqw "$name" "$src/src" "$src/prov_ofi" || echo "$name does not exist"
done >"$dir/log"
silent 'every setting that a page names exists'

# ---------------------------------------------------------------- the code in dat(7)

for file in examples/hello_server.c examples/hello_client.c; do
	sed -n "\\,^\.\\\\\" begin $file\$,,/^\.\\\\\" end/p" "$man/man7/dat.7" |
		sed -e '/^\.\\" /d' -e '/^\.Bd -literal$/d' -e '/^\.Ed$/d' -e 's/^\\&//' \
			-e 's/\\e/\\/g' | diff - "$src/$file" >"$dir/log" 2>&1
	verdict $? "dat(7) shows $file"
done

finish
