// Locales with facets of the program's own and of the system, made outside regions, used by all threads: by streams, directly, as the global locale
// and by std::cout; destroyed with their facets.
#include <clocale>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <locale>
#include <omp.h>
#include <sstream>
#include <string>
#include <vector>

template <class T> struct Punctuation : std::numpunct<T> {
    T do_decimal_point() const override { return ','; }
    std::basic_string<T> do_truename() const override { return std::basic_string<T>(3, 't'); }
    std::string do_grouping() const override { return "\2"; }
};

struct Commas : std::ctype<char> {
    static const mask *table()
    {
        static std::vector<mask> kinds(classic_table(), classic_table() + table_size);
        kinds[','] |= space;
        return kinds.data();
    }
    Commas() : ctype(table()) {}
};

struct Capitals : std::ctype<char> {
    char do_toupper(char c) const override { return c == 'x' ? '!' : ctype::do_toupper(c); }
};

struct Money : std::moneypunct<char> {
    std::string do_curr_symbol() const override { return "EUR"; }
    int do_frac_digits() const override { return 2; }
};

struct Reverse : std::collate<char> {
    int do_compare(const char *a, const char *b, const char *c, const char *d) const override { return -collate::do_compare(a, b, c, d); }
};

struct Marked : std::num_put<char> {
    iter_type do_put(iter_type to, std::ios_base &stream, char fill, long value) const override
    {
        *to++ = '#';
        return num_put::do_put(to, stream, fill, value);
    }
};

struct Own : std::locale::facet {
    static std::locale::id id;
    int number;
    Own(int number) : number(number) {}
    ~Own() { std::cout << "end of " << number << "\n"; }
};
std::locale::id Own::id;

int main()
{
    const std::locale base = std::locale::classic();
    {
        std::locale numbers(base, new Punctuation<char>), wide(base, new Punctuation<wchar_t>), commas(base, new Commas);
        std::locale capitals(base, new Capitals), money(base, new Money), reverse(base, new Reverse);
        std::locale marked(numbers, new Marked), own(marked, new Own(7)), named("C.UTF-8");
        std::locale combined = own.combine<std::ctype<char>>(commas), partly(own, named, std::locale::collate);
        std::locale dates(numbers, "C.UTF-8", std::locale::time);
        locale_t plain = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
        // The tables of characters in the facet itself are first filled by the thread that needs them.
        char widened[4] = "", narrowed[4] = "";
        #pragma omp parallel num_threads(4)
        if (omp_get_thread_num() == omp_get_num_threads() - 1) {
            auto &kinds = std::use_facet<std::ctype<char>>(commas);
            const char text[] = "a,b";
            kinds.widen(text, text + 3, widened);
            kinds.narrow(text, text + 3, '?', narrowed);
        }
        std::cout << widened << ' ' << narrowed << "\n";
        std::vector<std::string> lines(16);
        for (int round = 0; round < 3; round++) {
            std::cout.imbue(round == 1 ? numbers : base);
            std::locale before = std::locale::global(round == 2 ? numbers : base);
            #pragma omp parallel for num_threads(4) schedule(static, 1) ordered
            for (int i = 0; i < 16; i++) {
                std::ostringstream out;
                out << 1234567 << ' ';
                out.imbue(i & 1 ? numbers : marked);
                out << std::boolalpha << true << false << ' ' << 1234567L * (i + 1) << ' ' << std::fixed << 1234567.25;
                std::wostringstream wider;
                wider.imbue(wide);
                wider << 12345 << std::boolalpha << true;
                for (wchar_t c : wider.str())
                    out << char(c);
                std::istringstream in("1,2,3");
                in.imbue(commas);
                int a = 0, b = 0, c = 0;
                in >> a >> b >> c;
                out << ' ' << a + b + c << std::toupper('a', named) << std::toupper('x', capitals) << std::isspace(',', combined);
                out << std::use_facet<std::numpunct<char>>(marked).falsename() << reverse(std::string("a"), std::string("b"));
                std::ostringstream amount, date;
                amount.imbue(money);
                amount << std::showbase << std::put_money("12345");
                std::tm day{};
                day.tm_year = 100;
                day.tm_mday = 3;
                date.imbue(i % 3 ? base : dates);
                date << std::put_time(&day, "%A %x %c");
                out << amount.str() << date.str() << std::use_facet<Own>(own).number << std::has_facet<Own>(numbers);
                out << (own == own) << (own == partly) << std::use_facet<Own>(partly).number << named.name() << partly.name() << toupper_l('q', plain);
                std::locale local(out.getloc(), new Punctuation<char>);
                std::ostringstream last;
                last.imbue(local);
                last << i * 12345;
                lines[i] = out.str() + last.str();
                #pragma omp ordered
                std::cout << 1234567 + i << ' ';
            }
            std::cout << "\n";
            for (auto &line : lines)
                std::cout << line << "\n";
            std::locale::global(before);
            numbers = std::locale(numbers, new Punctuation<char>);
            std::ostringstream with_own;
            with_own.imbue(std::locale(base, new Own(round)));
            with_own << round;
        }
        freelocale(plain);
        std::cout.imbue(base);
    }
    std::cout << "end\n";
}
