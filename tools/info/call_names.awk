# SPDX-License-Identifier: BSD-2-Clause
# Lists the calls of both API versions, as macros: what the version scripts of libdat export, and the
# operations that the headers of the extensions define.
#
# awk -f call_names.awk libdat.map libdat2.map dat_ib_extensions.h dat_ib_collectives.h

function add(list, name) {
	if (!((list, name) in known))
		names[list] = names[list] " \\\n\tX(" name ")"
	known[list, name] = 1
}

FILENAME ~ /\.map$/ && $1 ~ /^dats?_[a-z_]*;$/ {
	add(FILENAME ~ /libdat2/ ? 20 : 12, substr($1, 1, length($1) - 1))
}

# A macro, with or without parameters, whose name is that of an operation.
FILENAME ~ /\.h$/ && $1 == "#define" && $2 ~ /^dat_ib_[a-z]/ {
	sub(/\(.*/, "", $2)
	add("ib", $2)
}

END {
	print "/* Made by tools/info/call_names.awk. */"
	print "#define INFO_CALLS_12(X)" names[12]
	print "#define INFO_CALLS_20(X)" names[20]
	print "#define INFO_CALLS_IB(X)" names["ib"]
}
