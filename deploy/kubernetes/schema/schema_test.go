// Package schema holds the examples for Kubernetes to the API's own types. It is a
// module of its own: golaunch itself does not depend on them.
package schema

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// mpiJob is kubeflow.org/v2beta1's MPIJob as far as the example uses it, written down
// from the operator's documentation; its pods are the API's own.
type mpiJob struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Spec            struct {
		SlotsPerWorker    *int32 `json:"slotsPerWorker,omitempty"`
		MPIImplementation string `json:"mpiImplementation,omitempty"`
		SSHAuthMountPath  string `json:"sshAuthMountPath,omitempty"`
		RunPolicy         struct {
			CleanPodPolicy string `json:"cleanPodPolicy,omitempty"`
		} `json:"runPolicy,omitempty"`
		MPIReplicaSpecs map[string]struct {
			Replicas *int32               `json:"replicas,omitempty"`
			Template core.PodTemplateSpec `json:"template"`
		} `json:"mpiReplicaSpecs"`
	} `json:"spec"`
}

// types are those of what the examples declare.
var types = map[string]func() any{
	"v1 ServiceAccount":                        func() any { return new(core.ServiceAccount) },
	"v1 Service":                               func() any { return new(core.Service) },
	"apps/v1 StatefulSet":                      func() any { return new(apps.StatefulSet) },
	"batch/v1 Job":                             func() any { return new(batch.Job) },
	"rbac.authorization.k8s.io/v1 Role":        func() any { return new(rbac.Role) },
	"rbac.authorization.k8s.io/v1 RoleBinding": func() any { return new(rbac.RoleBinding) },
	"kubeflow.org/v2beta1 MPIJob":              func() any { return new(mpiJob) },
}

// examples are the documents, by kind: each is of a known one, and has no field that its
// type lacks.
func examples(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, file := range []string{"../job.yaml", "../distroless.yaml", "../mpijob.yaml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, document := range strings.Split(string(text), "\n---\n") {
			var kind meta.TypeMeta
			require.NoError(t, yaml.Unmarshal([]byte(document), &kind), "%s, document %d", file, i)
			name := kind.APIVersion + " " + kind.Kind
			require.Contains(t, types, name, "%s, document %d", file, i)
			value := types[name]()
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), value), "%s, document %d", file, i)
			if file == "../distroless.yaml" { // which stands for one of job.yaml's
				kind.Kind += " distroless"
			}
			all[kind.Kind] = value
		}
	}
	require.Len(t, all, len(types)+1)
	return all
}

// Names that refer to each other agree.
func TestExamples(t *testing.T) {
	all := examples(t)
	job, role := all["Job"].(*batch.Job), all["RoleBinding"].(*rbac.RoleBinding)
	require.Equal(t, all["ServiceAccount"].(*core.ServiceAccount).Name, job.Spec.Template.Spec.ServiceAccountName)
	require.Equal(t, all["Role"].(*rbac.Role).Name, role.RoleRef.Name)
	set, distroless := all["StatefulSet"].(*apps.StatefulSet), all["StatefulSet distroless"].(*apps.StatefulSet)
	require.Equal(t, []any{set.Name, set.Spec.ServiceName, set.Spec.Selector, set.Spec.Template.Labels},
		[]any{distroless.Name, distroless.Spec.ServiceName, distroless.Spec.Selector, distroless.Spec.Template.Labels})
	require.Equal(t, all["Service"].(*core.Service).Name, set.Spec.ServiceName)
	require.Equal(t, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels)
	require.Equal(t, set.Spec.Selector.MatchLabels, all["Service"].(*core.Service).Spec.Selector)
	require.Contains(t, job.Spec.Template.Spec.Containers[0].Command, set.Name+"-[0-3]:2")
	require.Equal(t, int32(4), *set.Spec.Replicas)
	require.Equal(t, "statefulset/"+set.Name, job.Spec.Template.Spec.Containers[0].Env[0].Value, "which the job ends")
	require.Contains(t, all["MPIJob"].(*mpiJob).Spec.MPIReplicaSpecs, "Launcher")
}
