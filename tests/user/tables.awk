# awk -v kind=census|avazu|svm|real|ffm -v n=ROWS -v seed=N -v truth=FILE -f tables.awk: rows whose labels are drawn from a
# known model. Their true log odds and labels go to the file `truth`, so that a test knows what can be reached.
function draw(odds) {
    y = rand() < 1 / (1 + exp(-odds))
    print odds, y >truth
    return y
}
function pick(words, count, power) { return words "_" int(count * rand() ^ power) }
function weight(name) { # the same for the same name, -1 to 1
    if (!(name in weights))
        weights[name] = 2 * rand() - 1
    return weights[name]
}
function census(    age, work, school, years, marital, job, sex, gain, hours, land, odds) {
    age = 17 + int(70 * rand() ^ 1.5)
    years = 1 + int(16 * rand() ^ 0.6)
    school = "school-" years
    work = rand() < 0.06 ? "?" : pick("work", 7, 2)
    marital = pick("marital", 6, 1.5)
    job = work == "?" ? "?" : pick("job", 14, 1)
    sex = rand() < 0.67 ? "Male" : "Female"
    gain = rand() < 0.92 ? 0 : int(1000 * exp(4 * rand()))
    hours = rand() < 0.4 ? 40 : 1 + int(98 * rand())
    land = rand() < 0.02 ? "?" : pick("land", 40, 6)
    odds = -1.5 - ((age - 48) / 18) ^ 2 + (years - 9) / 4 + 1.5 * weight(marital) + 1.5 * weight(job) + (gain > 5000 ? 4 : 0) \
        + (gain > 0 && gain < 3000 ? -2 : 0) + (hours - 40) / 25 + (sex == "Male" ? 0.3 : -0.3) * (marital == "marital_0" ? 3 : 1)
    y = draw(odds)
    printf "%d, %s, %d, %s, %d, %s, %s, %s, %d, %d, %s, %s\n", age, work, 10000 + int(1e6 * rand() ^ 2), school, years, marital, job, \
        sex, gain, hours, land, y ? ">50K" : "<=50K"
}
function avazu(row,    day, hour, site, app, code, banner, odds) {
    day = 21 + int(row * 10 / n)
    hour = int(row * 240 / n) % 24
    site = int(150 * rand() ^ 2)
    app = int(40 * rand() ^ 2)
    code = int(300 * rand() ^ 2)
    banner = int(2 * rand())
    odds = -1.2 + 2 * weight("s" site) + 1.5 * weight("a" app) + 1.5 * weight("c" code) + weight("h" hour) + (banner ? 0.5 : -0.3)
    y = draw(odds)
    printf "1%08d%09d,%d,1410%02d%02d,%d,%d,%08x,%08x,%08x,%s,%08x,%d,%d,%d\n", row * 7, int(1e9 * rand()), y, day, hour, \
        1002 + int(3 * rand()), banner, site * 7919 + 3, app * 31337 + 5, int(n / 3 * rand()), \
        rand() < 0.8 ? "a99f214a" : sprintf("%08x", int(1e9 * rand())), app % 9 + 70, 15000 + code, 320, rand() < 0.5 ? -1 : 100000 + int(50 * rand())
}
function svm(    i, odds, line) {
    odds = -0.5
    line = ""
    for (i = 1; i <= 60; i++)
        if (rand() < 0.15) {
            odds += 1.5 * weight(i)
            line = line " " i ":1"
        }
    return (draw(odds) ? "+1" : "-1") line
}
function real(    a, b, c, odds) {
    a = 100 * rand()
    b = exp(6 * rand())
    c = rand() < 0.5 ? 0 : rand()
    odds = 3 * cos(a / 16) + (b > 20 ? 1.5 : -1.5) + 3 * c - 1
    return (draw(odds) ? 2 : 1) " 1:" a " 2:" b (c ? " 5:" c : "")
}
function ffm(    a, b, c, odds) {
    a = int(30 * rand() ^ 2)
    b = 30 + int(80 * rand() ^ 2)
    c = 110 + int(200 * rand())
    odds = -0.5 + 2 * weight("f" a) + 2 * weight("f" b) + (a % 2 == b % 2 ? 1 : -1)
    return draw(odds) " 1:" a ":1 2:" b ":1 3:" c ":1" (rand() < 0.5 ? " 3:" 110 + int(200 * rand()) ":1" : "")
}
BEGIN {
    srand(seed)
    if (kind == "census" && header)
        print "age, work class, \"fnl.wgt\", education, years, marital, \"job, \"\"main\"\"\", sex, gain, hours, land, income"
    if (kind == "avazu")
        print "id,click,hour,C1,banner_pos,site_id,app_id,device_ip,device_id,app_category,C14,C15,C20"
    for (row = 0; row < n; row++) {
        if (kind == "census")
            census()
        else if (kind == "avazu")
            avazu(row)
        else
            print kind == "svm" ? svm() : kind == "real" ? real() : ffm()
    }
}
