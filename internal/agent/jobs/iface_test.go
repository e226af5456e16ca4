package jobs

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// ifaceWorld is an agent whose ranks are to talk over an interface, with a world whose
// apps have these environments.
func ifaceWorld(wanted string, env []string, apps ...[]string) (*testNode, *world) {
	a := joined(&testNode{job: &Job{launch: &overlay.Launch{Env: env}}})
	a.addr = "10.0.0.1" // at which the parent has reached it
	a.job.launch.Iface = wanted
	w := &world{}
	for _, env := range apps {
		w.spec.Apps = append(w.spec.Apps, job.App{Env: env})
	}
	return a, w
}

func TestIface(t *testing.T) {
	for _, wanted := range []string{"lo", "127.0.0.0/8"} {
		a, w := ifaceWorld(wanted, nil, nil)
		a.job.env.takeIface()
		require.NoError(t, a.job.env.network.err)
		require.Equal(t, "127.0.0.1", a.job.env.address())
		env := a.job.env.addressEnv(w)
		for _, v := range []string{"PMI_HOSTNAME=127.0.0.1", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=127.0.0.1", "UCX_NET_DEVICES=lo", "OMPI_MCA_btl_tcp_if_include=lo"} {
			require.Contains(t, env, v)
		}
	}
	a, _ := ifaceWorld("no-such", nil)
	a.job.env.takeIface()
	require.ErrorContains(t, a.job.env.network.err, "--iface no-such: there is no such interface; this host has lo (127.0.0.1/8")
	a, w := ifaceWorld("", nil, nil)
	a.job.env.takeIface()
	require.NoError(t, a.job.env.network.err)
	require.Equal(t, []string{"PMI_HOSTNAME=10.0.0.1", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=10.0.0.1"}, a.job.env.addressEnv(w))
}

// With some variables of the user's others would keep MPI from starting.
func TestIfaceBesideTheUsers(t *testing.T) {
	a, w := ifaceWorld("lo", []string{"OMPI_MCA_btl_tcp_if_exclude=lo"}, nil, []string{"MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE=lo"})
	a.job.env.takeIface()
	env := a.job.env.addressEnv(w)
	require.Contains(t, env, "OMPI_MCA_oob_tcp_if_include=lo")
	require.NotContains(t, env, "OMPI_MCA_btl_tcp_if_include=lo")
	require.NotContains(t, env, "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=127.0.0.1")
}

// Open MPI hands a rank's environment over to those that it spawns, whose node may call its
// interface otherwise.
func TestSpawnForgetsTheNetworkOfItsNode(t *testing.T) {
	a, w := ifaceWorld("lo", nil, []string{"FI_TCP_IFACE=lo"})
	a.job.env.takeIface()
	env := slices.Concat(a.job.env.addressEnv(w), []string{"OMPI_MCA_pml=ob1", "OMPI_MCA_btl_tcp_if_include=eth7"})
	require.Equal(t, []string{"FI_TCP_IFACE=lo", "OMPI_MCA_pml=ob1", "OMPI_MCA_btl_tcp_if_include=eth7"}, a.job.env.forgetNetwork(w, env))
}

// UCX calls InfiniBand's and RoCE's devices otherwise than the kernel its interfaces.
func TestRDMADevices(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	sys := fstest.MapFS{
		"class/net/ib1/device/infiniband/mlx5_1/node_type":        file(""),
		"class/net/ib1/dev_port":                                  file("1\n"),
		"class/net/eth0/dev_port":                                 file("0\n"),
		"class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0":       file("bond0\n"),
		"class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1":       file("bond0\n"),
		"class/infiniband/mlx5_0/ports/2/gid_attrs/ndevs/0":       file("eth5\n"),
		"class/infiniband/mlx5_1/ports/2/gid_attrs/ndevs/0":       file(""),
		"class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/missing": file("eth55\n"),
	}
	for name, want := range map[string][]string{"ib1": {"mlx5_1:2"}, "bond0": {"mlx5_0:1"}, "eth5": {"mlx5_0:2"}, "eth0": nil, "lo": nil} {
		require.Equal(t, want, rdmaDevices(sys, name), name)
	}
}
