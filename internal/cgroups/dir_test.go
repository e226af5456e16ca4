package cgroups

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDir(t *testing.T) {
	const hybrid = "25 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
		"26 25 0:23 / /sys/fs/cgroup/cpu rw shared:4 - cgroup cgroup rw,cpu\n" +
		"27 25 0:24 / /sys/fs/cgroup/unified rw shared:5 master:1 - cgroup2 cgroup2 rw\n"
	tests := []struct {
		name, mounts, member, want, err string
	}{
		{name: "unified", mounts: "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", member: "0::/user.slice/u.scope\n", want: "/sys/fs/cgroup/user.slice/u.scope"},
		{name: "hybrid", mounts: hybrid, member: "4:memory:/m\n1:cpu:/c\n0::/\n", want: "/sys/fs/cgroup/unified"},
		{name: "subtree mounted", mounts: "30 1 0:26 /pod/a /cg rw - cgroup2 none rw\n", member: "0::/pod/a/b\n", want: "/cg/b"},
		{name: "blank in mount point", mounts: `30 1 0:26 / /c\040g rw - cgroup2 none rw` + "\n", member: "0::/b\n", want: "/c g/b"},
		{name: "second mount shows it", mounts: "29 1 0:26 /other /x rw - cgroup2 none rw\n30 1 0:26 / /cg rw - cgroup2 none rw\n", member: "0::/b\n", want: "/cg/b"},
		{name: "outside of the mount", mounts: "30 1 0:26 /pod/a /cg rw - cgroup2 none rw\n", member: "0::/pod/ab\n", err: "no cgroup v2 file system"},
		{name: "outside of the namespace", mounts: "30 1 0:26 / /cg rw - cgroup2 none rw\n", member: "0::/../up\n", err: "no cgroup v2 file system"},
		{name: "the namespace's parent", mounts: "30 1 0:26 / /cg rw - cgroup2 none rw\n", member: "0::/..\n", err: "no cgroup v2 file system"},
		{name: "only v1", mounts: "26 25 0:23 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", member: "1:cpu:/c\n", err: "in no cgroup v2"},
		{name: "empty", err: "in no cgroup v2"},
	}
	_, v1, err := Dir(hybrid, "4:memory:/m\n1:cpu:/c\n0::/\n", "cpu")
	assert.NoError(t, err)
	assert.Equal(t, "/sys/fs/cgroup/cpu/c", v1)
	_, _, err = Dir(hybrid, "4:memory:/m\n1:cpu:/c\n0::/\n", "memory")
	assert.ErrorContains(t, err, "no cgroup v1 with memory file system")
	for _, tt := range tests {
		_, got, err := Dir(tt.mounts, tt.member, "")
		assert.Equal(t, tt.want, got, tt.name)
		if tt.err == "" {
			assert.NoError(t, err, tt.name)
		} else {
			assert.ErrorContains(t, err, tt.err, tt.name)
		}
	}
}
