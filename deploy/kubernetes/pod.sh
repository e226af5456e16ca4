#!/bin/sh
# What the pods of job.yaml and mpijob.yaml run, as an ordinary user, without
# capabilities, under a read-only root.
#
#	pod.sh worker       run sshd at port 2222, for who has the key of ~/.ssh/authorized_keys
#	pod.sh job ARG...   run golaunch, then end the workers of the StatefulSet in $WORKERS
set -eu

case ${1:-} in
worker)
	# The host key is the secret's, or made anew.
	key=/etc/golaunch/ssh_host_key
	if [ ! -r "$key" ]; then
		key=$(mktemp -d /tmp/sshd.XXXXXX)/ssh_host_key
		ssh-keygen -q -t ed25519 -N '' -C "$(hostname)" -f "$key"
	fi
	# Secrets are links to files of root's, in directories that StrictModes takes amiss.
	exec /usr/sbin/sshd -D -e -f /dev/null -p 2222 -h "$key" -o PidFile=none -o UsePAM=no -o StrictModes=no \
		-o PasswordAuthentication=no -o KbdInteractiveAuthentication=no -o MaxStartups=1000
	;;
job)
	shift
	golaunch "$@" &
	job=$!
	trap 'kill -TERM "$job" 2>/dev/null' TERM INT
	status=0
	wait "$job" || status=$?
	while kill -0 "$job" 2>/dev/null; do # the signal ended the wait
		status=0
		wait "$job" || status=$?
	done
	# Whoever waits for the pod wants the job's status.
	kubectl scale "$WORKERS" --replicas=0 >&2 || echo "pod.sh: the workers of $WORKERS still run" >&2
	exit "$status"
	;;
*)
	echo "pod.sh: want worker or job, not '${1:-}'" >&2
	exit 2
	;;
esac
