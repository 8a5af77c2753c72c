#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Is there code in the EXAMPLES section of every page of section 3, does it compile, does it work?
# Run from the top of a build tree; snippets.c has the objects that the code may use.
# snippets.sh [PAGE...]: runs the code of some pages only.
set -u
. "${srcdir:-.}/test/man/lib.sh"
limit=${TEST_LIMIT:-60}
cc=$(sed -n 's/^CC = //p' Makefile)

# Code that libdat calls, and no program: it is compiled only.
not_run=' dat_provider_init '

# extract VERSION PAGE...: the code as C on stdout, what is wrong with it in $dir/wrong
extract()
{
	version=$1
	shift
	awk -v version="$version" -v not_run="$not_run" -v wrong="$dir/wrong" '
		function fault(text) {
			print FILENAME ":" FNR ": " text >wrong
		}
		function page_end() {
			if (name == "")
				return
			if (!lines)
				print name "(3) has no EXAMPLES section with code for uDAPL " \
					version ": see \"A call of the API\" in CONTRIBUTING.md" >wrong
			printf "%s", functions
			if (index(not_run, " " name " "))
				return
			printf "static void run_%s(void)\n{\n%s}\n", name, body
			table = table "\t{ \"" name "\", GIVEN_" given ", run_" name " },\n"
		}
		FNR == 1 {
			page_end()
			name = FILENAME
			gsub(/.*\/|\.3$/, "", name)
			given = "CONNECTED"
			functions = body = ""
			lines = examples = code = 0
			only = ""
			top = 0
		}
		/^\.Sh / {
			examples = $2 == "EXAMPLES"
			next
		}
		!examples { next }
		/^\.\\" given: / {
			given = toupper($3)
			next
		}
		/^\.\\" functions$/ { top = 1; next }
		/^\.\\" only uDAPL / { only = $4; next }
		/^\.\\" holds: / {
			sub(/^\.\\" holds: /, "")
			text = $0
			gsub(/\\/, "\\\\", text)
			gsub(/"/, "\\\"", text)
			body = body "holds(" $0 ", \"" text "\");\n"
			next
		}
		/^\.Bd -literal -offset indent$/ {
			code = 1
			block = 0
			out = "#line " FNR + 1 " \"" FILENAME "\"\n"
			next
		}
		/^\.Bd/ { fault("code stands between .Bd -literal -offset indent and .Ed") }
		/^\.Ed$/ {
			if (only == "" || only == version) {
				if (top)
					functions = functions out
				else
					body = body out
			}
			code = top = 0
			only = ""
			next
		}
		!code { next }
		{
			sub(/^\\&/, "")
			gsub(/\\-/, "-")
			gsub(/\\e/, "\\")
			out = out $0 "\n"
			if (only == "" || only == version)
				lines++
			if (++block == 33)
				fault("more than 32 lines of code")
			columns = 0
			for (i = 1; i <= length($0); i++)
				columns += substr($0, i, 1) == "\t" ? 8 - columns % 8 : 1
			if (columns > 72)
				fault("code is wider than 72 columns")
		}
		END {
			page_end()
			printf "static const struct page pages[] = {\n%s};\n", table
		}' "$@"
}

# pages_of VERSION: the pages that have calls of that version
pages_of()
{
	for page in "$src"/man3/*.3; do
		[ "$(wc -l <"$page")" -gt 1 ] &&
			sed -n '/^\.Sh LIBRARY/,/^\.Sh SYNOPSIS/p' "$page" | grep -q "$1" &&
			echo "$page"
	done
}

# The fabric that opens fastest; the code is the same on all of them.
only_over shm
for version in 2.0 1.2; do
	case $version in
	1.2) lib=dat define=-DDAT12 ;;
	2.0) lib=dat2 define= ;;
	esac
	pages=$(pages_of $version)
	: >"$dir/wrong"
	extract $version $pages >"$dir/snippets.inc"
	cp "$dir/wrong" "$dir/log"
	[ "$(echo "$pages" | wc -l)" -ge 70 ] || echo 'too few pages found' >>"$dir/log"
	silent "every page has examples for $version"
	$cc -std=gnu11 -Wall -Wextra -Werror $define -I"$dir" -I"$src/include" -o "$dir/snippets" \
		"$src/test/man/snippets.c" -L.libs -l$lib -lpthread >"$dir/log" 2>&1
	status=$?
	verdict $status "the examples compile for $version"
	[ $status -eq 0 ] || continue
	for name in $(sed -n 's/^	{ "\([a-z_]*\)", GIVEN_.*/\1/p' "$dir/snippets.inc"); do
		case " $* " in
		'  ' | *" $name "*) ;;
		*) continue ;;
		esac
		timeout -k 5 "$limit" "$dir/snippets" "$name" >"$dir/log" 2>&1
		status=$?
		echo "exit status $status" >>"$dir/log"
		verdict $status "example of $name(3), $version"
	done
done

finish
