# shellcheck shell=sh disable=SC2154 # variables are those of who sources this
# Functions of the scripts that unpack packages of Debian 13 into .cache, beside whatever
# release this machine has: nothing of the system is touched, and apt itself checks what
# it fetches. A script that sources this file sets, before it calls any of them:
#   name      its own name, which messages begin with
#   program   what is unpacked, for people
#   tree      .cache/$name
#   packages  names of packages

# have_trixie tells whether all packages of the list have been unpacked.
have_trixie() { [ "$(cat "$tree/complete" 2>/dev/null)" = "$packages" ]; }

# skip says why there is nothing, and ends the script well: tests that need it then say
# that they skip.
skip() { # WHY
	echo "$name: $*: $program is not tested" >&2
	rm -rf "$tree"
	exit 0
}

# Of apt's own user nothing is asked but to fetch, which root then does here.
apt() {
	apt-get -qq -o "Dir::Etc::sourcelist=$tree/apt/trixie.sources" -o Dir::Etc::sourceparts=- \
		-o "Dir::State::lists=$tree/apt/lists" -o "Dir::Cache=$tree/apt/cache" \
		-o Acquire::Languages=none -o APT::Sandbox::User=root "$@" >&2
}

# unpack_trixie fetches and unpacks the packages; tree is an absolute path from then on.
unpack_trixie() {
	command -v apt-get >/dev/null || skip "no apt-get"
	[ "$(dpkg --print-architecture)" = amd64 ] || skip "only for amd64"
	keys=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -e "$keys" ] || skip "no $keys"
	# Where this machine's own packages come from there is the next release, too.
	# shellcheck disable=SC2016 # apt's own variables
	mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | head -n 1)
	[ -n "$mirror" ] || skip "apt knows no mirror of Debian"

	rm -rf "$tree"
	mkdir -p "$tree/apt/lists/partial" "$tree/apt/cache/archives/partial" "$tree/debs"
	tree=$(cd "$tree" && pwd -P)
	cat >"$tree/apt/trixie.sources" <<END
Types: deb
URIs: $mirror
Suites: trixie
Components: main
Signed-By: $keys
END
	echo "$name: unpacking $program into .cache/$name" >&2
	apt update || skip "apt-get update of Debian 13 failed"
	# shellcheck disable=SC2086 # one word per package
	(cd "$tree/debs" && apt download $packages) || skip "apt-get download failed"
	for deb in "$tree"/debs/*.deb; do
		dpkg -x "$deb" "$tree"
	done
	rm -rf "$tree/apt" "$tree/debs"
}

# done_trixie marks the tree as complete.
done_trixie() { echo "$packages" >"$tree/complete"; }
