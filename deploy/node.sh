#!/bin/sh
# What a container of compose.yaml runs. The containers share the volume /cluster:
# the head puts the key that opens the nodes there, each node its host key.
#
#	node.sh head          wait to be used
#	node.sh node          run sshd
#	node.sh golaunch ...  on the head: golaunch on all nodes that are up; it waits a
#	                      minute for those that were asked for: the containers of the
#	                      service, or as many as $NODES says
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
	up=0
	asked=0
	for _ in $(seq 600); do
		# A node that was killed is known still, but its name is not.
		for key in "$keys"/*; do
			[ -e "$key" ] && ! getent hosts "${key##*/}" >/dev/null && rm -f "$key"
		done
		up=$(find "$keys" -type f ! -name '.*' 2>/dev/null | wc -l)
		asked=$(getent ahostsv4 node | cut -d' ' -f1 | sort -u | wc -l)
		[ "$asked" -ge "${NODES:-0}" ] || asked=$NODES
		[ "$up" -lt "$asked" ] || break
		sleep 0.1
	done
	[ "$up" -ge "$asked" ] || echo "node.sh: $up of $asked nodes are up: look at docker compose logs node" >&2
	if [ "$up" -eq 0 ]; then
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
