package plan

// Of large records a sample has fewer: so many that they are maxSampleBytes together, but minSample at least.
const (
	maxSampleBytes = 32 << 20
	minSample      = 1 << 10
)

// SampleLimit is how many records of a size a sample has that may have n.
func SampleLimit(n, size int) int { return min(n, max(maxSampleBytes/size, minSample)) }
