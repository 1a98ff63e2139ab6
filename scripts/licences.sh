#!/bin/sh
# Checks the dependencies: each has a licence that deny.toml accepts, and comes from crates.io as Cargo.lock says.
set -eu
cd "$(dirname "$0")/.."

accepted=$(sed -n '/^allow = \[/,/^\]/s/^ *"\(.*\)",$/\1/p' deny.toml | tr '\n' ' ')
[ -n "$accepted" ] || { echo "licences: deny.toml accepts none" >&2; exit 1; }

list=$(cargo tree --workspace --locked --all-features -e normal,build,dev --prefix none --format '{p}|{l}' | sed '/^$/d' | sort -u)
[ -n "$list" ] || { echo "licences: no dependencies were listed" >&2; exit 1; }

# Every AND-ed part must offer an accepted alternative. "A OR (B AND C)" is read as "(A OR B) AND C": too strict,
# never too lax.
echo "$list" | awk -F '|' -v accepted="$accepted" '
    BEGIN { n = split(accepted, words, " "); for (i = 1; i <= n; i++) ok[words[i]] = 1 }
    {
        licence = $2
        sub(/ \(\*\)$/, "", licence)
        expression = licence
        gsub(/[()]/, "", expression)
        gsub(/\//, " OR ", expression)
        fine = expression != ""
        parts = split(expression, conjunct, / AND /)
        for (i = 1; i <= parts; i++) {
            found = 0
            choices = split(conjunct[i], choice, / OR /)
            for (j = 1; j <= choices; j++) { gsub(/^ +| +$/, "", choice[j]); if (choice[j] in ok) found = 1 }
            fine = fine && found
        }
        if (!fine) { printf "licences: %s: \"%s\" is not accepted\n", $1, licence > "/dev/stderr"; bad = 1 }
    }
    END { exit bad }
'

foreign=$(grep '^source = ' Cargo.lock | grep -v '^source = "registry+https://github.com/rust-lang/crates.io-index"$' || true)
[ -z "$foreign" ] || { echo "licences: sources other than crates.io: $foreign" >&2; exit 1; }
echo "licences: $(echo "$list" | cut -d '|' -f 1 | sort -u | wc -l) packages, all accepted"
