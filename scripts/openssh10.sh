#!/bin/sh
# Unpacks OpenSSH 10 of Debian 13 into .cache/openssh10, for a cluster whose machines have
# it as /run/openssh10, with its own C library. Once. Where apt cannot fetch it, the script
# says so and goes on: tests that need it then say that they skip.
set -eu
cd "$(dirname "$0")/.."

name=openssh10 program='OpenSSH 10' tree=.cache/openssh10
packages='openssh-server openssh-client libc6 libssl3t64 zlib1g libzstd1 libcrypt1 libpam0g libselinux1
libpcre2-8-0 libaudit1 libcap-ng0 libwrap0 libwtmpdb0 libsqlite3-0 libgssapi-krb5-2 libkrb5-3
libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1'
. scripts/trixie.sh
! have_trixie || exit 0
unpack_trixie

libraries=$tree/usr/lib/x86_64-linux-gnu
mkdir "$tree/lib"
cp "$libraries/ld-linux-x86-64.so.2" "$tree/ld.so"
for file in usr/sbin/sshd usr/lib/openssh/sshd-session usr/lib/openssh/sshd-auth usr/bin/ssh; do
	linked=$("$tree/ld.so" --library-path "$libraries" --list "$tree/$file") || skip "$file does not run: $linked"
	foreign=$(echo "$linked" | sed -n "\|=> $tree/|! s|^[[:space:]]*\(.*\) => .*|\1|p" | grep -v ld-linux || true)
	[ -z "$foreign" ] || skip "$file is linked with libraries of other packages:" "$foreign"
	echo "$linked" | sed -n "s|.* => \($libraries/[^ ]*\) .*|\1|p" | xargs cp -t "$tree/lib"
	cp "$tree/$file" "$tree"
done
(cd "$tree" && rm -rf etc usr var)
# The programs name their loader in /run, and the loader looks for libraries there: a
# wrapper around each would be measured with every connection. Names are as long as those
# that they replace; machines of the cluster have no cache of libraries in /run.
LC_ALL=C sed -i 's|/lib64/ld-linux-x86-64.so.2|////////run/openssh10/ld.so|' "$tree"/ssh*
LC_ALL=C sed -i 's|/lib/x86_64-linux-gnu/|/run/openssh10/lib////|g; s|/etc/ld.so.cache|/run/ld.so.cache|' "$tree/ld.so"
done_trixie
