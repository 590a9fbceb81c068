package output

import "testing"

func makeFIFO(t *testing.T, _ string) { t.Skip("no FIFOs in the file system") }
