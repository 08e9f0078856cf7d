package social

import "strings"

var (
	firstNames = strings.Fields(`Aino Akira Alejandro Amina Ana Anders Anh Antonio Ayesha Bao Bruno Carmen Chen Chloe Daniel Deepa Diego Elena Emma
		Erik Fatima Felix Giulia Hana Hugo Ibrahim Ines Ivan Jan Jose Julia Kaoru Karim Kenji Lars Laila Lena Li Lucas Maja Mao Maria Marta Mehdi Mia
		Mihai Nadia Nina Noor Olga Omar Oscar Paulo Pedro Petra Priya Rafael Rahul Rosa Sara Sofia Stefan Tariq Thi Tomas Wei Yang Yara Yusuf Zoe`)
	lastNames = strings.Fields(`Abe Alonso Andersson Bauer Bianchi Castillo Chen Costa Das Dubois Eriksen Fernandez Fischer Garcia Gonzalez Gupta Haddad
		Hansen Hoang Ivanov Ito Jansen Johansson Kaya Khan Kim Kowalski Kumar Larsen Lee Li Lopez Martin Meyer Moreau Muller Nagy Nguyen Novak Nowak
		Okafor Olsen Papadopoulos Park Petrov Popescu Reyes Rossi Roy Sanchez Santos Sato Schmidt Sharma Silva Singh Smith Sousa Suzuki Tanaka Torres
		Tran Virtanen Wagner Wang Weber Yamada Yilmaz Zhang Zhu`)
	browsers  = []string{"Chrome", "Firefox", "Firefox", "Internet Explorer", "Safari", "Opera"}
	cityParts = strings.Fields(`Ash Bel Carn Dor Elm Far Glen Hol Iver Kil Lin Mar Nor Oak Pel Quen Ros Stan Tor Ulm Ver Wes York Zel`)
	cityEnds  = strings.Fields(`bury by dale field ford ham haven ington minster mouth port stead stow ton ville wick`)
	tagWords  = strings.Fields(`Aviation Baroque Cartography Chess Cinema Cooking Cricket Cycling Dance Design Economics Football Gardening Geology History
		Jazz Linguistics Logic Mathematics Mountains Mythology Opera Painting Philosophy Photography Physics Poetry Politics Railways Rivers Sailing
		Sculpture Swimming Theatre Travel Weaving`)
	words = strings.Fields(`a about after again all also always an and any are around as asked at away back be because been before best better book both but by
		came can city come could day days did different do does each end even every example far few find first for found friend from gave get give go
		good great had hand has have he heard her here him his home house how however I if in into is it its just keep kind knew know last later learn
		left letter life like little live long look made make many may me mean might more morning most much music must my name never new next night no
		not now of off old on once one only open or other our out over own part people place point question quite read reply right said same saw say
		see seen set she should since small so some something soon still story such take talk than that the their them then there these they thing
		think this those though thought through time to together told too town two under until up us use very walk want was way we week well went were
		what when where which while who why will with without work world would write year years yes yet you young your`)
)
