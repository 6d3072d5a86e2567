// TextRegex: a pattern of a tokenizer file, matched by ICU on UTF-8 text. Patterns are compiled once; a Matcher belongs
// to one thread and one text. Called by the normalizers and pre-tokenizers.
#pragma once

#include "core/text/split_text.h"

#include <memory>

namespace headscope {

class TextRegex {
public:
    // Throws LoadError naming file and entry where ICU cannot read the pattern.
    TextRegex(std::string_view pattern, const std::string& file, const std::string& entry);

    class Matcher {
    public:
        explicit Matcher(const TextRegex& regex);
        ~Matcher();
        Matcher(const Matcher&) = delete;
        Matcher& operator=(const Matcher&) = delete;
        // Appends segments that cover the text: matches and what lies between. Empty matches are passed over. Throws
        // InputError when a pattern needs more steps or memory than ICU grants it.
        void find(std::string_view text, std::vector<Segment>& out);

    private:
        struct State;
        std::unique_ptr<State> m_state;
    };

private:
    struct Pattern;
    std::shared_ptr<const Pattern> m_pattern;
};

} // namespace headscope
