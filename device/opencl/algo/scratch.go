package algo

// ScratchBytes is about how much device memory, besides the Data, a sort of n keys takes: the tables of counts, or
// the states of tiles. It is an upper bound for the default parameters.
func ScratchBytes(name string, n int64) int64 {
	const small = 8 << 20 // histograms, sums of sections, and tables that do not grow with n
	counter := int64(4)
	if n >= wideFrom {
		counter = 8
	}
	table := func(keysPerTile, radix int64) int64 { return small + (n/keysPerTile+1)*radix*counter }
	switch name {
	case "onesweep", "hybrid":
		return table(3584, 256)
	case "split", "tile":
		return table(1024, 16)
	case "binning":
		return table(256, 16)
	case "selection", "selection-blocks":
		return 0
	}
	return small + 8<<20
}

// wideFrom is where positions get 64 bits. Up to here a word of 32 bits has room for a position and the two flags
// of onesweep.
const wideFrom = 1 << 30
