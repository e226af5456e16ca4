#!/bin/sh
# Makes the base image of the docker nodes from Debian's packages, as root,
# where no image can be pulled. The packages that the Dockerfile adds are put in
# at once, so that its build needs no network.
set -eu
tag=$1 label=$2
work=$(mktemp -d /var/tmp/golaunch-base.XXXXXX)
trap 'rm -rf "$work"' EXIT
debootstrap --variant=minbase --include=openssh-server,mpich,openmpi-bin,pdsh,iproute2 bookworm "$work/root"
rm -rf "$work"/root/var/cache/apt/archives/*.deb "$work"/root/var/lib/apt/lists/*
tar -C "$work/root" -c . | docker import --change "LABEL $label" - "$tag"
