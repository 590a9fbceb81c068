package plan

import "testing"

// Toy is the strategy of RegisterToy.
const Toy Strategy = "toss"

// ToyStage is the stage of Toy.
const ToyStage = "toss and sort"

// RegisterToy adds a strategy to the table until the end of a test: it can run whenever one chunk
// holds everything, and is predicted to take no time.
func RegisterToy(t *testing.T) {
	before := Strategies
	t.Cleanup(func() { Strategies = before })
	Strategies = append(before[:len(before):len(before)], Properties{
		Name:          Toy,
		Way:           "toss the records until they are in order",
		Requestable:   true,
		stages:        []stageText{{ToyStage, "tossing"}},
		exits:         []exit{{condition: "the toy is broken"}},
		InMemory:      true,
		ReadsAllFirst: true,
		weigh: func(c *chooser) Candidate {
			return Candidate{
				Possible:     c.f.Records >= 0 && c.f.Records <= c.capacity,
				Why:          "few records are soon in order",
				Chunks:       1,
				ChunkRecords: c.capacity,
				Stages:       []Stage{c.stage(ToyStage, work{}), {Name: StageFinish}},
			}
		},
	})
}
