package plan

// The stages that belong to no strategy. Each strategy declares its own stages in its own file.
const (
	StageStart  = "start"      // open the inputs and the devices, plan, reserve the output
	StageUnpack = "decompress" // inputs to temporary files, if decompressors do not fit in memory
	StageFinish = "finish"     // fsync and rename
	StageVerify = "verify"
	StageCheck  = "check"
)

// A stageText describes a stage of a sort to users.
type stageText struct {
	Name  string // as plans and reports name it
	Doing string // the activity, as progress messages show it
}

// commonStages are the stages that belong to no strategy.
var commonStages = []stageText{
	{StageStart, "opening the inputs and devices"},
	{StageUnpack, "decompressing inputs to temporary files"},
	{StageFinish, "syncing the output to disk"},
	{StageVerify, "verifying the output"},
	{StageCheck, "reading and checking the input"},
}

// StageText describes a stage in words for users. For a stage that is in no table, it returns the name.
func StageText(stage string) string {
	tables := [][]stageText{commonStages}
	for _, row := range Strategies {
		tables = append(tables, row.stages)
	}
	for _, stages := range tables {
		for _, s := range stages {
			if s.Name == stage {
				return s.Doing
			}
		}
	}
	return stage
}
