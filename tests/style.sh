#!/bin/sh
# style.sh ROOT - what the house style says that a machine can see: no tabs, at most 100 columns, no
# space at the end of a line, no variable of the environment that is not told of, no number
# written as the host's locale has it; and what .clang-format says, where the version it was written
# for is installed (others disagree about details).
set -eu
cd "$1"

ours() {
    find src include tests cl examples cmake -type f \( -name '*.[ch]' \
        -o -name '*.cpp' -o -name '*.cl' -o -name '*.sh' \) 2>/dev/null | LC_ALL=C sort
}

failed=0
complain() { # what, pattern
    if ours | LC_ALL=C.UTF-8 xargs grep -nE "$2" /dev/null; then
        echo "style.sh: $1" >&2
        failed=1
    fi
}

[ "$(ours | wc -l)" -gt 20 ]
complain 'tabs above; the house indents with spaces' "$(printf '\t')"
complain 'lines above are longer than 100 columns' '.{101}'
complain 'lines above end in a space' ' $'

# A variable of ours that is read stands in a list that a user sees.
variables=$(grep -rhoE 'getenv\("MOTLEY_[A-Z_]+"' src | sed 's/.*"\(.*\)"/\1/' | LC_ALL=C sort -u)
[ -n "$variables" ]
for name in $variables; do
    if ! grep -q "{\"$name\"," src/base/environment.c src/cli/help.c; then
        echo "style.sh: $name is read, but neither mot_environment nor the help lists it" >&2
        failed=1
    fi
done

# A sentence of the library's has a decimal point under every locale: base/text.c writes those.
commas=$(find src -name '*.c' ! -path 'src/cli/*' ! -path src/base/text.c | LC_ALL=C sort |
    LC_ALL=C xargs awk '
        FNR == 1 { open = 0 }
        /(^|[^_a-z])v?snprintf\(/ { open = 1; text = ""; at = FILENAME ":" FNR }
        open { text = text $0 }
        open && /;( *\/\*.*)?$/ {
            open = 0
            gsub(/%\.0f/, "", text)
            if (text ~ /vsnprintf/ || text ~ /%[-+ 0-9.*]*[aefgAEFG]/)
                print at ":" text
        }')
if [ -n "$commas" ]; then
    printf '%s\nstyle.sh: mot__text_into or mot__text_format writes these\n' "$commas" >&2
    failed=1
fi

if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    ours | grep '\.[ch]$' | xargs clang-format --dry-run -Werror || failed=1
else
    echo 'style.sh: no clang-format 14 here, the layout was not looked at'
fi
exit $failed
