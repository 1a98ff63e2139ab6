// Facets of the classic locale work on memory that other processes have written: characters, order of texts, code conversion, dates, money.
#include <ctime>
#include <iomanip>
#include <iostream>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

enum { N = 64 };

int main()
{
    std::locale classic;
    std::vector<std::string> text(N), other(N), key(N);
    std::vector<std::wstring> wide(N);
    std::vector<std::tm> day(N);
    std::vector<long> result(N);
    auto &narrow_kinds = std::use_facet<std::ctype<char>>(classic);
    auto &wide_kinds = std::use_facet<std::ctype<wchar_t>>(classic);
    auto &order = std::use_facet<std::collate<char>>(classic);
    auto &wide_order = std::use_facet<std::collate<wchar_t>>(classic);
    auto &conversion = std::use_facet<std::codecvt<wchar_t, char, std::mbstate_t>>(classic);
    auto end = [](auto &s) { return s.data() + s.size(); };
    for (int round = 0; round < 5; round++) {
        #pragma omp parallel num_threads(4)
        {
            #pragma omp for schedule(static)
            for (int i = 0; i < N; i++) {
                text[i] = "a text of some length " + std::to_string(i * 7 % N + round);
                other[i] = "a text of some length " + std::to_string(i);
                wide[i] = std::wstring(text[i].begin(), text[i].end());
                day[i] = std::tm{};
                day[i].tm_year = 90 + i;
                day[i].tm_mday = 1 + i % 28;
            }
            #pragma omp for schedule(static, 1)
            for (int i = 0; i < N; i++) {
                narrow_kinds.toupper(&text[i][0], &text[i][0] + text[i].size());
                wide_kinds.toupper(&wide[i][0], &wide[i][0] + wide[i].size());
                key[i] = order.transform(text[i].data(), end(text[i]));
            }
            #pragma omp for schedule(static, 3)
            for (int i = 0; i < N; i++) {
                int j = (i + 1) % N;
                long value = 0;
                for (unsigned char c : text[i])
                    value = value * 31 + c;
                for (wchar_t c : wide[i])
                    value = value * 31 + c;
                value += 1000 * order.compare(text[i].data(), end(text[i]), text[j].data(), end(text[j]));
                value += 500 * classic(text[i], other[(i + 9) % N]) + order.hash(text[i].data(), end(text[i])) % 97 + key[j].size() + key[j][9];
                value += 1000 * wide_order.compare(wide[i].data(), end(wide[i]), wide[j].data(), end(wide[j]));
                wchar_t characters[64], *characters_end;
                const char *rest;
                std::mbstate_t state{};
                conversion.in(state, text[i].data(), end(text[i]), rest, characters, characters + 64, characters_end);
                for (wchar_t *c = characters; c < characters_end; c++)
                    value = value * 7 + *c;
                char bytes[64];
                std::ctype_base::mask kinds[64];
                wide_kinds.widen(text[i].data(), end(text[i]), characters);
                wide_kinds.narrow(wide[i].data(), end(wide[i]), '?', bytes);
                wide_kinds.is(wide[i].data(), end(wide[i]), kinds);
                value += characters[3] + bytes[5] + kinds[2];
                value += wide_kinds.scan_not(std::ctype_base::upper, wide[i].data(), end(wide[i])) - wide[i].data();
                std::ostringstream out;
                out << std::put_time(&day[j], "%Y-%m-%d ") << std::put_money(text[i].substr(22));
                std::tm read{};
                std::istringstream(out.str()) >> std::get_time(&read, "%Y-%m-%d");
                for (char c : out.str())
                    value = value * 5 + c;
                result[i] = value + read.tm_year * 100 + read.tm_mday;
            }
        }
        long sum = 0;
        for (long value : result)
            sum = sum * 3 + value;
        std::cout << sum << "\n";
    }
}
