package schema

import (
	"testing"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// pods are the templates of all pods of the examples.
func pods(all map[string]any) map[string]core.PodTemplateSpec {
	found := map[string]core.PodTemplateSpec{
		"StatefulSet":            all["StatefulSet"].(*apps.StatefulSet).Spec.Template,
		"StatefulSet distroless": all["StatefulSet distroless"].(*apps.StatefulSet).Spec.Template,
		"Job":                    all["Job"].(*batch.Job).Spec.Template,
	}
	for name, r := range all["MPIJob"].(*mpiJob).Spec.MPIReplicaSpecs {
		found["MPIJob "+name] = r.Template
	}
	return found
}

// The API's own admission, as of the restricted Pod Security Standard, takes all pods.
func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	all := pods(examples(t))
	require.Len(t, all, 5)
	for name, p := range all {
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &p.ObjectMeta, &p.Spec))
		require.True(t, result.Allowed, "%s: %s", name, result.ForbiddenDetail())
		p.Spec.Containers[0].SecurityContext = nil
		require.False(t, policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &p.ObjectMeta, &p.Spec)).Allowed, "%s without it", name)
	}
}

// Every mount has its volume; workers have a /dev/shm of their own that fits in their
// memory, and no process may write to their root.
func TestPodsHaveWhatTheyNeed(t *testing.T) {
	for name, p := range pods(examples(t)) {
		volumes := map[string]core.Volume{}
		for _, v := range p.Spec.Volumes {
			volumes[v.Name] = v
		}
		c := p.Spec.Containers[0]
		at := map[string]core.Volume{}
		for _, m := range c.VolumeMounts {
			require.Contains(t, volumes, m.Name, name)
			at[m.MountPath] = volumes[m.Name]
		}
		require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, name)
		require.Contains(t, at, "/tmp", name)
		if c.Name == "worker" {
			shm := at["/dev/shm"].EmptyDir
			require.NotNil(t, shm, name)
			require.Equal(t, core.StorageMediumMemory, shm.Medium, name)
			require.Negative(t, shm.SizeLimit.Cmp(*c.Resources.Limits.Memory()), name)
		}
	}
}
