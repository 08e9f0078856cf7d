package temporal

import (
	"strings"
	"sync"
	"time"
)

// merged lists the zones that the IANA database has merged, in its main form, with a zone whose clocks agree since 1970.
// Machines differ in whether their copy keeps the merged zones' older histories; answers must not, so instants before
// 1970 follow the zone on the left, as they do in Java's copy.
var merged = map[string]string{
	"Africa/Abidjan": "Africa/Accra Africa/Bamako Africa/Banjul Africa/Conakry Africa/Dakar Africa/Freetown " +
		"Africa/Lome Africa/Nouakchott Africa/Ouagadougou Atlantic/Reykjavik " +
		"Atlantic/St_Helena",
	"Africa/Johannesburg": "Africa/Maseru Africa/Mbabane",
	"Africa/Lagos": "Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa Africa/Libreville " +
		"Africa/Luanda Africa/Malabo Africa/Niamey Africa/Porto-Novo",
	"Africa/Maputo": "Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Kigali " +
		"Africa/Lubumbashi Africa/Lusaka",
	"Africa/Nairobi": "Africa/Addis_Ababa Africa/Asmara Africa/Dar_es_Salaam Africa/Djibouti Africa/Kampala " +
		"Africa/Mogadishu Indian/Antananarivo Indian/Comoro Indian/Mayotte",
	"America/Panama":  "America/Atikokan America/Cayman",
	"America/Phoenix": "America/Creston",
	"America/Puerto_Rico": "America/Anguilla America/Antigua America/Aruba America/Blanc-Sablon America/Curacao " +
		"America/Dominica America/Grenada America/Guadeloupe America/Montserrat " +
		"America/Port_of_Spain America/St_Kitts America/St_Lucia America/St_Thomas " +
		"America/St_Vincent America/Tortola",
	"America/Toronto":      "America/Nassau",
	"Asia/Bangkok":         "Asia/Phnom_Penh Asia/Vientiane Indian/Christmas",
	"Asia/Dubai":           "Asia/Muscat Indian/Mahe Indian/Reunion",
	"Asia/Kuching":         "Asia/Brunei",
	"Asia/Qatar":           "Asia/Bahrain",
	"Asia/Riyadh":          "Antarctica/Syowa Asia/Aden Asia/Kuwait",
	"Asia/Singapore":       "Asia/Kuala_Lumpur",
	"Asia/Yangon":          "Indian/Cocos",
	"Europe/Belgrade":      "Europe/Ljubljana Europe/Sarajevo Europe/Skopje Europe/Zagreb",
	"Europe/Berlin":        "Europe/Copenhagen Europe/Oslo Europe/Stockholm",
	"Europe/Brussels":      "Europe/Amsterdam Europe/Luxembourg",
	"Europe/London":        "Europe/Guernsey Europe/Isle_of_Man Europe/Jersey",
	"Europe/Paris":         "Europe/Monaco",
	"Europe/Zurich":        "Europe/Vaduz",
	"Indian/Maldives":      "Indian/Kerguelen",
	"Pacific/Auckland":     "Antarctica/McMurdo",
	"Pacific/Guadalcanal":  "Pacific/Pohnpei",
	"Pacific/Guam":         "Pacific/Saipan",
	"Pacific/Pago_Pago":    "Pacific/Midway",
	"Pacific/Port_Moresby": "Antarctica/DumontDUrville Pacific/Chuuk",
	"Pacific/Tarawa":       "Pacific/Funafuti Pacific/Majuro Pacific/Wake Pacific/Wallis",
}

// olderHistory maps a merged zone's name to that of the zone whose history before 1970 it follows.
var olderHistory = sync.OnceValue(func() map[string]string {
	m := make(map[string]string)
	for target, names := range merged {
		for name := range strings.FieldsSeq(names) {
			m[name] = target
		}
	}
	return m
})

// beforeEpoch returns the location whose rules hold in l before 1970; a copy of the database that lacks it keeps l's own.
func beforeEpoch(l *time.Location) *time.Location {
	if target, ok := olderHistory()[l.String()]; ok {
		if older, err := loadLocation(target); err == nil {
			return older
		}
	}
	return l
}
