#include "app/cli/commands.h"
#include "app/cli/common_options.h"
#include "app/cli/json_text.h"
#include "app/cli/table.h"
#include "core/model/checkpoint.h"
#include "core/model/mapped_file.h"
#include "core/text/load_tokenizer.h"

#include <filesystem>

namespace headscope::cli {

namespace {

struct TokensOptions {
    ModelOptions model;
    OptionText text, textFile, pair, tokenizer;
    bool json = false, noSpecial = false;
};

// Any text will do, the empty one too: this command computes nothing.
std::string textOf(const TokensOptions& o, const Streams& streams) {
    if (o.text && o.textFile)
        throw InputError("--text and --text-file exclude each other: give one of them");
    if (o.textFile)
        return readTextFile(*o.textFile, streams.in);
    if (o.text)
        return *o.text;
    if (o.model.model == "worked-example")
        return std::string(workedExampleText());
    throw InputError("there is no text: give one with --text or --text-file (it may be empty: --text \"\")");
}

// What cuts the text, and what a second one is to it.
struct Cutter {
    std::shared_ptr<const Tokenizer> tokenizer;
    PairUse pair = PairUse::SecondSegment;
};

// A tokenizer file or folder alone; a GGUF file has its vocabulary inside.
Cutter cutterOfFile(const TokensOptions& o) {
    if (o.model.anyGiven())
        throw InputError("--tokenizer and the options of a model (--model, --d-model, ...) exclude each other: give "
                         "one of them");
    const std::string& path = *o.tokenizer;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) && startsLikeGguf(mapFile(path).bytes))
        return {tokenizerOfGguf(*parseGguf(mapFile(path)))};
    return {loadTokenizer(path)};
}

Cutter cutterOfModel(const TokensOptions& o) {
    SharedModel model = openModel(modelSource(o.model)).model;
    if (model->config().site) // the source's tokens
        model = model->atSite(Site::EncoderSelf);
    const std::string& name = model->config().name;
    refuseHeadsOption(o.model, *model);
    if (o.noSpecial && isWordModel(*model))
        throw InputError("--no-special is for models that add special tokens; " + name + " adds none");
    const PairUse pair = model->config().pair;
    if (o.pair && pair == PairUse::None)
        throw InputError("--pair is a second segment of encoders, and the key text of toy and attention modules; " +
                         name + (model->config().causal ? ", a decoder," : "") + " takes one text");
    return {std::shared_ptr<const Tokenizer>(model, &model->tokenizer()), pair};
}

struct Row {
    int index = 0;
    Token token;
};

// A key text is a sequence of its own, counted from 0 again; a second segment goes on in the same one.
std::vector<Row> tokenRows(const Cutter& cutter, const TokenizerInput& input) {
    std::vector<Row> rows;
    const auto add = [&](const TokenSequence& sequence, std::optional<int> segment) {
        int index = 0;
        for (Token token : sequence.tokens) {
            token.segment = segment.value_or(token.segment);
            rows.push_back({index++, std::move(token)});
        }
    };
    const bool isKeyText = input.pair && cutter.pair == PairUse::KeyText;
    add(cutter.tokenizer->encode(
            {.text = input.text, .pair = isKeyText ? std::nullopt : input.pair, .addSpecial = input.addSpecial}),
        std::nullopt);
    if (isKeyText)
        add(cutter.tokenizer->encode({.text = *input.pair, .addSpecial = input.addSpecial}), 1);
    return rows;
}

void printJson(std::ostream& out, const std::vector<Row>& rows) {
    std::vector<Json> items;
    for (const auto& [index, token] : rows) {
        Json item{{"index", index}, {"id", token.id}, {"piece", token.piece}, {"text", token.text}};
        item["start"] = token.range ? Json(token.range->start) : Json();
        item["end"] = token.range ? Json(token.range->end) : Json();
        item["special"] = token.special;
        item["segment"] = token.segment;
        items.push_back(std::move(item));
    }
    printJsonList(out, items);
}

void printTable(std::ostream& out, const std::vector<Row>& rows) {
    Table table({">index", ">id", "piece", "text", "bytes", ">segment"});
    for (const auto& [index, token] : rows) {
        const std::string bytes =
            token.range ? std::to_string(token.range->start) + "-" + std::to_string(token.range->end) : "added";
        table.row({std::to_string(index), std::to_string(token.id), visible(token.piece), visible(token.text), bytes,
                   std::to_string(token.segment)});
    }
    table.print(out);
}

} // namespace

int tokensCommand(const Arguments& arguments, const Streams& streams) {
    TokensOptions o;
    CommandLine line("tokens", "Lists the tokens of a text: index, id, piece and byte range.",
                     "headscope tokens --text \"The cat sat on the mat\" --json");
    line.value("--text", o.text, "T", "the text; it may be empty");
    line.value("--text-file", o.textFile, "F", "the text from a UTF-8 file, byte for byte; - is standard input");
    line.value("--pair", o.pair, "T2", "a second text: a second segment, or the key text (toy, attention modules)");
    line.flag("--json", o.json, "a list of objects: index, id, piece, text, start, end, special, segment");
    line.value("--tokenizer", o.tokenizer, "PATH", "a tokenizer file or folder alone, instead of --model");
    line.flag("--no-special", o.noSpecial, "without added special tokens (models that add some)");
    addModelOptions(line, o.model);
    if (!line.parse(arguments, streams.out))
        return 0;

    const std::string text = textOf(o, streams);
    requireUtf8(text, o.textFile.value_or("--text"));
    if (o.pair)
        requireUtf8(*o.pair, "--pair");
    const Cutter cutter = o.tokenizer ? cutterOfFile(o) : cutterOfModel(o);
    const std::vector<Row> rows =
        tokenRows(cutter, {.text = text,
                           .pair = o.pair ? std::optional<std::string_view>(*o.pair) : std::nullopt,
                           .addSpecial = !o.noSpecial});
    if (o.json)
        printJson(streams.out, rows);
    else
        printTable(streams.out, rows);
    return 0;
}

} // namespace headscope::cli
