#!/bin/sh
# What a container of compose.yaml runs. The containers share the volume /cluster:
# the head puts the key that opens the nodes there, each node its host key.
#
#	node.sh head          wait to be used
#	node.sh node          run sshd
#	node.sh golaunch ...  on the head: golaunch on all nodes that are up
set -eu

keys=/cluster/known

case ${1:-} in
head)
	mkdir -p ~/.ssh "$keys"
	[ -f ~/.ssh/id_ed25519 ] || ssh-keygen -q -t ed25519 -N '' -C head -f ~/.ssh/id_ed25519
	cp ~/.ssh/id_ed25519.pub /cluster/authorized_keys
	exec sleep infinity
	;;
node)
	name=$(hostname)
	ssh-keygen -q -A
	mkdir -p /run/sshd ~/.ssh "$keys"
	ln -sf /cluster/authorized_keys ~/.ssh/authorized_keys
	# A node that goes is no node any more.
	trap 'rm -f "$keys/$name"; kill "$sshd"; exit' INT TERM
	/usr/sbin/sshd -D -o StrictModes=no -o PasswordAuthentication=no -o MaxStartups=1000 &
	sshd=$!
	echo "$name $(cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub)" >"$keys/.$name"
	mv "$keys/.$name" "$keys/$name"
	wait "$sshd"
	;;
golaunch)
	shift
	if [ -z "$(ls "$keys" 2>/dev/null)" ]; then
		echo "node.sh: no node is up: look at docker compose logs node, or start some: docker compose up --scale node=4" >&2
		exit 1
	fi
	cat "$keys"/* >~/.ssh/known_hosts
	ls "$keys" >~/hosts
	exec golaunch -f ~/hosts "$@"
	;;
*)
	echo "node.sh: want head, node or golaunch, not '${1:-}'" >&2
	exit 2
	;;
esac
