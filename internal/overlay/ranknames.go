package overlay

// RankNames selects the variables that tell ranks their numbers, beside golaunch's own.
// Its words travel.
type RankNames string

// The values of RankNames; "" is none.
const (
	SlurmNames   RankNames = "step"
	OpenMPINames RankNames = "openmpi"
	MVAPICHNames RankNames = "mvapich"
)

// OfRank returns the variables of one rank, NAME=value, by its number in its world and on
// its node.
func (n RankNames) OfRank(rank, local string) []string {
	switch n {
	case SlurmNames:
		return []string{"SLURM_PROCID=" + rank, "SLURM_LOCALID=" + local}
	case OpenMPINames:
		return []string{"OMPI_COMM_WORLD_RANK=" + rank, "OMPI_COMM_WORLD_LOCAL_RANK=" + local, "OMPI_COMM_WORLD_NODE_RANK=" + local}
	case MVAPICHNames:
		return []string{"MV2_COMM_WORLD_RANK=" + rank, "MV2_COMM_WORLD_LOCAL_RANK=" + local}
	}
	return nil
}

// OfNode returns those of all ranks of a node: how many the world has, and the node, and
// which the node is, by its number and name. Those by which MPI libraries ask a launcher
// that is not there are left out.
func (n RankNames) OfNode(size, local, node, host string) []string {
	switch n {
	case SlurmNames:
		return []string{"SLURM_NTASKS=" + size, "SLURM_NPROCS=" + size, "SLURM_NODEID=" + node, "SLURMD_NODENAME=" + host}
	case OpenMPINames:
		return []string{"OMPI_COMM_WORLD_SIZE=" + size, "OMPI_COMM_WORLD_LOCAL_SIZE=" + local}
	case MVAPICHNames:
		return []string{"MV2_COMM_WORLD_SIZE=" + size, "MV2_COMM_WORLD_LOCAL_SIZE=" + local}
	}
	return nil
}
