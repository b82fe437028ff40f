#!/bin/sh
# symbols.sh LIBRARY - only names that begin with mot_ leave the archive, so that it meets no name
# of the program that links it.
set -eu

names=$(nm -g --defined-only "$1" 2>/dev/null | awk 'NF == 3 { print $3 }' | LC_ALL=C sort -u)
count=$(printf '%s\n' "$names" | grep -c '^mot_' || true)
if [ "$count" -lt 50 ]; then
    echo "symbols.sh: only $count names that begin with mot_ in $1: is that the library?" >&2
    exit 1
fi
strangers=$(printf '%s\n' "$names" | grep -v '^mot_' || true)
if [ -n "$strangers" ]; then
    printf 'symbols.sh: these leave %s too:\n%s\n' "$1" "$strangers" >&2
    exit 1
fi
echo "symbols.sh: $count names, all begin with mot_"
