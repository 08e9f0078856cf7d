package ldbc

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/conformance"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// event is an insert of the benchmark's update streams.
type event struct {
	time   int64
	op     string
	fields []string
}

// events returns the update streams in the order of time.
func events(t testing.TB, dir string) []event {
	var out []event
	for _, file := range []string{"updateStream_0_0_person.csv", "updateStream_0_0_forum.csv"} {
		for _, line := range Lines(t, filepath.Join(dir, "update_streams", file)) {
			f := strings.Split(string(line), "|")
			at, err := strconv.ParseInt(f[0], 10, 64)
			require.NoError(t, err)
			out = append(out, event{at, f[2], f[3:]})
		}
	}
	slices.SortStableFunc(out, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	return out
}

// updates holds, for each insert, the parameters in the order of the stream's fields (i for integers, s for strings, I and S for lists of
// them, P for lists of pairs), a statement that counts the inserted elements, and the expected count.
var updates = map[string]struct {
	params string
	check  string
	count  func(p map[string]graph.Value) int
}{
	"1": {
		"personId:i personFirstName:s personLastName:s gender:s birthday:i creationDate:i locationIP:s browserUsed:s cityId:i languages:S " +
			"emails:S tagIds:I studyAt:P workAt:P",
		`MATCH (p:Person {id: $personId, firstName: $personFirstName, email: $emails, birthday: $birthday})-[e]->(x)
		 WHERE type(e) IN ['IS_LOCATED_IN', 'HAS_INTEREST', 'STUDY_AT', 'WORKS_AT'] RETURN count(e)`,
		func(p map[string]graph.Value) int {
			// An UNWIND over an empty list ends the statement there, so the rest is not created.
			n := 1
			for _, list := range []string{"tagIds", "studyAt", "workAt"} {
				k := len(p[list].List())
				if n += k; k == 0 {
					break
				}
			}
			return n
		},
	},
	"2": {"personId:i postId:i creationDate:i", `MATCH (:Person {id: $personId})-[l:LIKES {creationDate: $creationDate}]->(:Post {id: $postId}) RETURN count(l)`, one},
	"3": {"personId:i commentId:i creationDate:i", `MATCH (:Person {id: $personId})-[l:LIKES {creationDate: $creationDate}]->(:Comment {id: $commentId}) RETURN count(l)`, one},
	"4": {
		"forumId:i forumTitle:s creationDate:i moderatorPersonId:i tagIds:I",
		`MATCH (f:Forum {id: $forumId, title: $forumTitle})-[e:HAS_MODERATOR|HAS_TAG]->() RETURN count(e)`, tagged(1),
	},
	"5": {"forumId:i personId:i joinDate:i", `MATCH (:Forum {id: $forumId})-[m:HAS_MEMBER {joinDate: $joinDate}]->(:Person {id: $personId}) RETURN count(m)`, one},
	"6": {
		"postId:i imageFile:s creationDate:i locationIP:s browserUsed:s language:s content:s length:i authorPersonId:i forumId:i countryId:i tagIds:I",
		`MATCH (p:Post:Message {id: $postId, length: $length})-[e:HAS_CREATOR|CONTAINER_OF|IS_LOCATED_IN|HAS_TAG]-()
		 WHERE coalesce(p.content, p.imageFile) IN [$content, $imageFile] RETURN count(e)`, tagged(3),
	},
	"7": {
		"commentId:i creationDate:i locationIP:s browserUsed:s content:s length:i authorPersonId:i countryId:i replyToPostId:i replyToCommentId:i tagIds:I",
		`MATCH (c:Comment {id: $commentId, content: $content})-[e:HAS_CREATOR|REPLY_OF|IS_LOCATED_IN|HAS_TAG]->() RETURN count(e)`, tagged(3),
	},
	"8": {"person1Id:i person2Id:i creationDate:i", `MATCH (:Person {id: $person1Id})-[k:KNOWS {creationDate: $creationDate}]->(:Person {id: $person2Id}) RETURN count(k)`, one},
}

func one(map[string]graph.Value) int { return 1 }

func tagged(n int) func(p map[string]graph.Value) int {
	return func(p map[string]graph.Value) int { return n + len(p["tagIds"].List()) }
}

// parameter parses a field of the stream.
func parameter(t testing.TB, kind byte, field string) graph.Value {
	switch kind {
	case 'i':
		i, err := strconv.ParseInt(field, 10, 64)
		require.NoError(t, err)
		return graph.IntValue(i)
	case 's':
		return graph.StringValue(field)
	}
	var list []graph.Value
	for part := range strings.SplitSeq(field, ";") {
		switch {
		case part == "":
		case kind == 'P':
			a, b, _ := strings.Cut(part, ",")
			list = append(list, graph.ListValue([]graph.Value{parameter(t, 'i', a), parameter(t, 'i', b)}))
		default:
			list = append(list, parameter(t, kind|0x20, part))
		}
	}
	return graph.ListValue(list)
}

// The inserts run unchanged in the order of the stream, and create what they should.
func TestUpdates(t *testing.T) {
	dir := Data(t)
	all := Statements(t, filepath.Join(dir, "ldbc-queries.jsonl"))
	dir = filepath.Join(dir, "ldbc-sf0.003")
	e, _ := Load(t, dir, 1)
	const enough = 40 // of each kind, and all new persons
	ran := map[string]int{}
	for _, ev := range events(t, dir) {
		u := updates[ev.op]
		// Later events depend on persons, forums and messages created earlier.
		if ran[ev.op] >= enough && !strings.ContainsAny(ev.op, "1467") || ran[ev.op] >= 10*enough {
			continue
		}
		params := map[string]graph.Value{}
		for i, p := range strings.Fields(u.params) {
			name, kind, _ := strings.Cut(p, ":")
			params[name] = parameter(t, kind[0], ev.fields[i])
		}
		before := ran[ev.op]
		Run(t.Context(), t, e, all["interactive-update-"+ev.op], params)
		ran[ev.op]++
		if before < enough {
			require.Equal(t, u.count(params), number(t, e, u.check, params), "update %s %q", ev.op, ev.fields)
		}
	}
	require.Len(t, ran, 8)
	conformance.LDBC.Ran(t, "updates", len(ran))
	for op, n := range ran {
		require.GreaterOrEqual(t, n, 28, op)
	}
	require.Equal(t, ran["1"], number(t, e, `MATCH (p:Person) WHERE p.languages IS NOT NULL RETURN count(p)`, nil))
}

// number runs a statement that returns a single number.
func number(t testing.TB, e *query.Engine, statement string, params map[string]graph.Value) int {
	_, rows := Run(t.Context(), t, e, statement, params)
	require.Len(t, rows, 1, statement)
	return int(rows[0][0].Int())
}
