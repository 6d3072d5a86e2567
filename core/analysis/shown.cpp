#include "core/analysis/shown.h"

#include "core/tensor/errors.h"
#include "core/text/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headscope {

namespace {

// Where each byte range of a text begins to belong to another word.
std::vector<ByteRange> wordRanges(const std::string& text) {
    std::vector<ByteRange> ranges;
    if (text.empty())
        return ranges;
    for (const TokenSequence words = makeWordTokenizer()->tokenize(text); const Token& word : words.tokens)
        if (word.range)
            ranges.push_back(*word.range);
    return ranges;
}

// The word that a token belongs to: the first one that it reaches into; -1 for none (white space alone).
int wordAt(const std::vector<ByteRange>& words, ByteRange range) {
    const auto it = std::ranges::upper_bound(words, range.start, {}, &ByteRange::end);
    return it != words.end() && it->start < range.end ? static_cast<int>(it - words.begin()) : -1;
}

// Pieces without a text: "##at" goes on, and in vocabularies that mark the beginning of a word ("Ġcat", "▁cat") every
// letter or digit without the mark does.
bool continuesByMark(const Token& token, bool marksBeginnings) {
    if (token.piece.starts_with("##"))
        return true;
    const bool begins = token.piece.starts_with("\u0120") || token.piece.starts_with("\u2581");
    return marksBeginnings && !begins && !isPunctuation(token.piece);
}

bool marksBeginnings(const TokenSequence& tokens) {
    return std::ranges::any_of(
        tokens.tokens, [](const Token& t) { return t.piece.starts_with("\u0120") || t.piece.starts_with("\u2581"); });
}

// The word as typed where all its pieces have a place in the text, else their texts in a row.
std::string wordLabel(const TokenSequence& tokens, const std::vector<int>& pieces) {
    const auto at = [&](int i) -> const Token& { return tokens.tokens[static_cast<std::size_t>(i)]; };
    if (pieces.size() == 1)
        return labelOf(at(pieces.front()));
    const std::string& source = at(pieces.front()).segment == 0 ? tokens.source : tokens.pairSource;
    const auto &first = at(pieces.front()).range, &last = at(pieces.back()).range;
    std::string label;
    if (first && last && !source.empty() && last->end <= source.size() && first->start < last->end)
        label = source.substr(first->start, last->end - first->start);
    else
        for (const int piece : pieces)
            label += labelOf(at(piece));
    const std::size_t begin = label.find_first_not_of(" \t\r\n");
    return begin == std::string::npos ? label : label.substr(begin);
}

std::vector<std::vector<int>> wordGroups(const TokenSequence& tokens) {
    const std::vector<ByteRange> words[] = {wordRanges(tokens.source), wordRanges(tokens.pairSource)};
    const bool marks = marksBeginnings(tokens);
    std::vector<std::vector<int>> groups;
    int wordBefore = -1; // of the group that is being filled
    for (int i = 0; i < tokens.size(); ++i) {
        const Token& token = tokens.tokens[static_cast<std::size_t>(i)];
        const bool hasText = token.range && !words[token.segment == 0 ? 0 : 1].empty();
        const int word = hasText ? wordAt(words[token.segment == 0 ? 0 : 1], *token.range) : -1;
        bool goesOn = false;
        if (i > 0 && !token.special) {
            const Token& before = tokens.tokens[static_cast<std::size_t>(i - 1)];
            goesOn = !before.special && before.segment == token.segment &&
                     (hasText ? word >= 0 && word == wordBefore : continuesByMark(token, marks));
        }
        if (goesOn)
            groups.back().push_back(i);
        else
            groups.push_back({i});
        wordBefore = word;
    }
    return groups;
}

ShownAxis dimensionAxis(int count) {
    ShownAxis axis;
    for (int i = 0; i < count; ++i)
        axis.places.push_back({{i}, std::to_string(i), false});
    return axis;
}

ShownAxis axisOf(const AttentionTrace& trace, StageAxis axis, int count, Stage stage, const View& view) {
    if (axis == StageAxis::Dimensions)
        return dimensionAxis(count);
    const TokenSequence& tokens = axis == StageAxis::QueryTokens ? trace.scenario.query : trace.scenario.keyTokens();
    return tokenAxis(tokens, view.special, view.words && mergesWords(stage));
}

bool isEverything(const ShownAxis& axis, int count) {
    return axis.size() == count;
}

// Special queries and keys out, each row divided by what is left. Fills removed and emptyRows of single tokens.
struct Dropped {
    Matrix weights; // (n, m), columns of dropped keys 0
    std::vector<double> removed;
    std::vector<bool> empty;
};
Dropped dropSpecial(const Matrix& weights, const TokenSequence& keys) {
    Dropped out{weights, std::vector<double>(static_cast<std::size_t>(weights.rows())),
                std::vector<bool>(static_cast<std::size_t>(weights.rows()))};
    for (int r = 0; r < weights.rows(); ++r) {
        double removed = 0, left = 0;
        for (int c = 0; c < weights.cols(); ++c)
            (keys.tokens[static_cast<std::size_t>(c)].special ? removed : left) += static_cast<double>(weights(r, c));
        out.removed[static_cast<std::size_t>(r)] = removed;
        out.empty[static_cast<std::size_t>(r)] = left <= 0;
        for (int c = 0; c < weights.cols(); ++c)
            out.weights(r, c) = keys.tokens[static_cast<std::size_t>(c)].special || left <= 0
                                    ? 0.0F
                                    : static_cast<float>(static_cast<double>(weights(r, c)) / left);
    }
    return out;
}

// Rows and columns of the axes: the mean over the queries of a place of the sum over its keys.
Matrix gathered(const Matrix& values, const ShownAxis& rows, const ShownAxis& cols, const std::vector<bool>& empty) {
    Matrix out(rows.size(), cols.size());
    for (int r = 0; r < rows.size(); ++r) {
        const std::vector<int>& queries = rows.places[static_cast<std::size_t>(r)].tokens;
        int counted = 0;
        for (const int i : queries)
            counted += static_cast<std::size_t>(i) < empty.size() && empty[static_cast<std::size_t>(i)] ? 0 : 1;
        for (int c = 0; c < cols.size(); ++c) {
            const std::vector<int>& keys = cols.places[static_cast<std::size_t>(c)].tokens;
            if (queries.size() == 1 && keys.size() == 1) {
                out(r, c) = values(queries.front(), keys.front());
                continue;
            }
            double sum = 0; // fully masked rows are all 0 and add nothing
            for (const int i : queries)
                for (const int j : keys)
                    sum += static_cast<double>(values(i, j));
            out(r, c) = static_cast<float>(sum / std::max(1, counted));
        }
    }
    return out;
}

bool isEveryToken(const ShownAxis& axis, std::size_t tokens) {
    return static_cast<std::size_t>(axis.size()) == tokens &&
           std::ranges::all_of(axis.places, [](const ShownAxis::Place& p) { return p.tokens.size() == 1; });
}

// Of single tokens: whole stretches at once, since a long text has millions of cells. closed: all false.
std::vector<bool> closedOutside(const std::vector<KeyMask::Range>& open, int cols, std::vector<bool> closed) {
    auto row = closed.begin();
    for (const KeyMask::Range& range : open) {
        const int begin = std::clamp(range.begin, 0, cols), end = std::clamp(range.end, begin, cols);
        std::fill(row, row + begin, true);
        std::fill(row + end, row + cols, true);
        row += cols;
    }
    return closed;
}

// A place is closed where every pair of its tokens is.
std::vector<bool> closedCells(const KeyMask& mask, const ShownAxis& rows, const ShownAxis& cols) {
    int lastKey = 0;
    for (const ShownAxis::Place& col : cols.places)
        lastKey = std::max(lastKey, col.tokens.back());
    const auto seesAll = [&](int query) {
        const KeyMask::Range range = mask.open[static_cast<std::size_t>(query)];
        return range.begin == 0 && lastKey < range.end;
    };
    if (!mask.additive && std::ranges::all_of(rows.places, [&](const ShownAxis::Place& row) {
            return std::ranges::all_of(row.tokens, seesAll);
        }))
        return {};
    std::vector<bool> closed(static_cast<std::size_t>(rows.size()) * static_cast<std::size_t>(cols.size()));
    if (!mask.additive && isEveryToken(rows, mask.open.size()) &&
        isEveryToken(cols, static_cast<std::size_t>(lastKey) + 1))
        return closedOutside(mask.open, cols.size(), std::move(closed));
    bool any = false;
    std::size_t at = 0;
    for (const ShownAxis::Place& row : rows.places)
        for (const ShownAxis::Place& col : cols.places) {
            const bool open = std::ranges::any_of(row.tokens, [&](int i) {
                return std::ranges::any_of(col.tokens, [&](int j) { return mask.isOpen(i, j); });
            });
            closed[at++] = !open;
            any = any || !open;
        }
    return any ? closed : std::vector<bool>();
}

std::string percent(double share) {
    const long tenths = std::lround(1000 * share);
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " %";
}

} // namespace

std::string labelOf(const Token& token) {
    return token.text.empty() ? token.piece : token.text;
}

int ShownAxis::placeOf(int token) const {
    for (int p = 0; p < size(); ++p)
        if (std::ranges::find(places[static_cast<std::size_t>(p)].tokens, token) !=
            places[static_cast<std::size_t>(p)].tokens.end())
            return p;
    return -1;
}

ShownAxis tokenAxis(const TokenSequence& tokens, Special special, bool words) {
    std::vector<std::vector<int>> groups;
    if (words)
        groups = wordGroups(tokens);
    else
        for (int i = 0; i < tokens.size(); ++i)
            groups.push_back({i});
    const bool leavesOut = special == Special::Hide || special == Special::Drop;
    ShownAxis axis;
    for (std::vector<int>& group : groups) {
        const bool isSpecial = tokens.tokens[static_cast<std::size_t>(group.front())].special;
        if (isSpecial && leavesOut)
            continue;
        std::string label = wordLabel(tokens, group);
        axis.places.push_back({std::move(group), std::move(label), isSpecial});
    }
    return axis;
}

// A row of the target predicts the token behind it, the last one the end.
static void nameByPrediction(ShownAxis& rows, const Scenario& scenario) {
    const std::vector<Token>& read = scenario.texts->target.tokens;
    for (ShownAxis::Place& place : rows.places) {
        const auto next = static_cast<std::size_t>(place.tokens.back()) + 1;
        place.label = labelOf(
            next < read.size() ? read[next] : scenario.model->tokenizer().tokenOf(scenario.model->targetRules().end));
    }
}

ShownStage shownStage(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage, const View& view) {
    const SharedMatrix whole = stageMatrix(trace, layer, head, stage);
    const StageInfo& info = stageInfo(stage);
    ShownStage out;
    out.rows = axisOf(trace, info.rows, whole->rows(), stage, view);
    out.cols = axisOf(trace, info.cols, whole->cols(), stage, view);
    const auto site = trace.config().site;
    if (view.predicted && info.rows == StageAxis::QueryTokens && site && *site != Site::EncoderSelf)
        nameByPrediction(out.rows, trace.scenario);
    if (out.rows.places.empty() || out.cols.places.empty())
        throw InputError("every token of this text is special, and special tokens are left out: nothing is left to "
                         "show; show them");
    std::vector<bool> empty = isTokenByToken(stage) ? trace.layer(layer).emptyRows : std::vector<bool>();
    const bool drops = stage == Stage::Weights && view.special == Special::Drop;
    std::vector<double> removed;
    if (drops) {
        Dropped dropped = dropSpecial(*whole, trace.scenario.keyTokens());
        out.matrix = share(gathered(dropped.weights, out.rows, out.cols, dropped.empty));
        empty = std::move(dropped.empty);
        removed = std::move(dropped.removed);
    } else if (isEverything(out.rows, whole->rows()) && isEverything(out.cols, whole->cols())) {
        out.matrix = whole;
    } else {
        out.matrix = share(gathered(*whole, out.rows, out.cols, empty));
    }
    for (const ShownAxis::Place& row : out.rows.places) {
        if (!empty.empty())
            out.emptyRows.push_back(
                std::ranges::all_of(row.tokens, [&](int i) { return empty[static_cast<std::size_t>(i)]; }));
        if (!removed.empty()) {
            double sum = 0;
            for (const int i : row.tokens)
                sum += removed[static_cast<std::size_t>(i)];
            out.removed.push_back(sum / static_cast<double>(row.tokens.size()));
        }
    }
    if (stage == Stage::Weights)
        out.closed = closedCells(trace.mask, out.rows, out.cols);
    return out;
}

ShownStage cropped(const ShownStage& stage, const CellRegion& region) {
    const int top = std::clamp(region.rowBegin, 0, stage.matrix->rows() - 1);
    const int left = std::clamp(region.colBegin, 0, stage.matrix->cols() - 1);
    const int bottom = std::clamp(region.rowEnd, top + 1, stage.matrix->rows());
    const int right = std::clamp(region.colEnd, left + 1, stage.matrix->cols());
    ShownStage part;
    part.matrix = share(copy(MatrixView(*stage.matrix).rowRange(top, bottom).colRange(left, right)));
    part.rows.places.assign(stage.rows.places.begin() + top, stage.rows.places.begin() + bottom);
    part.cols.places.assign(stage.cols.places.begin() + left, stage.cols.places.begin() + right);
    if (!stage.emptyRows.empty())
        part.emptyRows.assign(stage.emptyRows.begin() + top, stage.emptyRows.begin() + bottom);
    if (!stage.removed.empty())
        part.removed.assign(stage.removed.begin() + top, stage.removed.begin() + bottom);
    for (int r = top; !stage.closed.empty() && r < bottom; ++r)
        for (int c = left; c < right; ++c)
            part.closed.push_back(stage.cellIsClosed(r, c));
    return part;
}

Matrix combined(std::span<const SharedMatrix> matrices, Combine how) {
    Matrix out = *matrices.front();
    if (how == Combine::Mean) {
        for (std::size_t i = 0; i < out.size(); ++i) {
            double sum = 0;
            for (const SharedMatrix& m : matrices)
                sum += static_cast<double>(m->values()[i]);
            out.values()[i] = static_cast<float>(sum / static_cast<double>(matrices.size()));
        }
    } else if (how == Combine::Max) {
        for (const SharedMatrix& m : matrices)
            std::ranges::transform(out.values(), m->values(), out.values().begin(),
                                   [](float a, float b) { return std::max(a, b); });
    }
    return out;
}

ShownStage shownHeads(const AttentionTrace& trace, const View& view) {
    ShownStage out = shownStage(trace, view.layer, view.heads.front(), view.stage, view);
    const bool perHead = stageInfo(view.stage).scope != StageScope::AllHeads;
    if (view.combine == Combine::None || view.heads.size() < 2 || !perHead)
        return out;
    std::vector<SharedMatrix> matrices{out.matrix};
    for (std::size_t i = 1; i < view.heads.size(); ++i) {
        const ShownStage next = shownStage(trace, view.layer, view.heads[i], view.stage, view);
        matrices.push_back(next.matrix);
        for (std::size_t r = 0; r < out.removed.size(); ++r)
            out.removed[r] += next.removed[r];
    }
    for (double& removed : out.removed)
        removed /= static_cast<double>(view.heads.size());
    out.matrix = share(combined(matrices, view.combine));
    return out;
}

Matrix rangedCells(const ShownStage& shown, Special special) {
    if (special != Special::Unranged)
        return *shown.matrix;
    const auto ordinary = [](const ShownAxis& axis) {
        std::vector<int> places;
        for (int p = 0; p < axis.size(); ++p)
            if (!axis.places[static_cast<std::size_t>(p)].special)
                places.push_back(p);
        return places;
    };
    const std::vector<int> rows = ordinary(shown.rows), cols = ordinary(shown.cols);
    Matrix out(static_cast<int>(rows.size()), static_cast<int>(cols.size()));
    for (int r = 0; r < out.rows(); ++r)
        for (int c = 0; c < out.cols(); ++c)
            out(r, c) = (*shown.matrix)(rows[static_cast<std::size_t>(r)], cols[static_cast<std::size_t>(c)]);
    return out;
}

std::string shownRule(const ShownStage& shown, Stage stage, const View& view) {
    std::string rule;
    const auto say = [&](const std::string& sentence) { rule += (rule.empty() ? "" : "; ") + sentence; };
    if (view.special == Special::Hide)
        say("special tokens hidden, numbers as computed");
    else if (view.special == Special::Unranged)
        say("special tokens left out of the colour range");
    else if (view.special == Special::Drop && shown.removed.empty())
        say("special tokens dropped");
    else if (view.special == Special::Drop) {
        const double mean = std::accumulate(shown.removed.begin(), shown.removed.end(), 0.0) /
                            std::max<double>(1, static_cast<double>(shown.removed.size()));
        const double most = shown.removed.empty() ? 0 : *std::ranges::max_element(shown.removed);
        say("special tokens dropped and rows renormalised; removed mass " + percent(mean) + " on average, " +
            percent(most) + " at most");
    }
    if (view.words && mergesWords(stage))
        say("pieces merged into words: sum over keys, mean over queries");
    else if (view.words && (stageInfo(stage).rows != StageAxis::Dimensions))
        say("pieces stay apart: only weights can be summed into words");
    return rule;
}

} // namespace headscope
