package temporal

import "testing"

func BenchmarkParse(b *testing.B) {
	stockholm := mustZone(b, "Europe/Stockholm")
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"Date", func() error { _, err := ParseDate("2015-07-21"); return err }},
		{"DateTimeOffset", func() error { _, err := ParseDateTime("2015-07-21T21:40:32.142+01:00", UTC); return err }},
		{"DateTimeZone", func() error { _, err := ParseDateTime("2015-07-21T21:40:32.142", stockholm); return err }},
		{"DateTimeBefore1970", func() error { _, err := ParseDateTime("1915-07-21T21:40:32.142", stockholm); return err }},
		{"Duration", func() error { _, err := ParseDuration("P1Y2M3DT4H5M6.7S"); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
