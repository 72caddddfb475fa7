
module example.com/a // c

go 1.22

require (
	x.com/b v1.2.3 // indirect
)
replace x.com/b => ../sub
