#include "app/cli/commands.h"
#include "app/cli/common_options.h"
#include "app/cli/json_text.h"
#include "app/cli/table.h"

namespace headscope::cli {

namespace {

struct TokensOptions {
    ModelOptions model;
    OptionText text, textFile, pair, tokenizer;
    bool json = false, noSpecial = false;
};

// Any text will do, the empty one too: this command computes nothing.
std::string textOf(const TokensOptions& o, const std::string& model, const Streams& streams) {
    if (o.text && o.textFile)
        throw InputError("--text and --text-file exclude each other: give one of them");
    if (o.textFile)
        return readTextFile(*o.textFile, streams.in);
    if (o.text)
        return *o.text;
    if (model == "worked-example")
        return std::string(workedExampleText());
    throw InputError("there is no text: give one with --text or --text-file (it may be empty: --text \"\")");
}

struct Row {
    int index = 0;
    Token token;
};

// A second text is counted from 0 again: its tokens are the columns of cross-attention, or the second segment.
std::vector<Row> tokenRows(const Tokenizer& tokenizer, const std::string& text, const OptionText& pair) {
    std::vector<Row> rows;
    int index = 0;
    for (const Token& token : tokenizer.tokenize(text).tokens)
        rows.push_back({index++, token});
    if (!pair)
        return rows;
    index = 0;
    for (Token token : tokenizer.tokenize(*pair).tokens) {
        token.segment = 1;
        rows.push_back({index++, std::move(token)});
    }
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
    line.value("--pair", o.pair, "T2", "a second text: key text of cross-attention (toy, attention modules)");
    line.flag("--json", o.json, "a list of objects: index, id, piece, text, start, end, special, segment");
    line.value("--tokenizer", o.tokenizer, "PATH", "a tokenizer file or folder alone, instead of --model");
    line.flag("--no-special", o.noSpecial, "without added special tokens (models that add some)");
    addModelOptions(line, o.model);
    if (!line.parse(arguments, streams.out))
        return 0;

    if (o.tokenizer)
        throw InputError(
            "--tokenizer " + *o.tokenizer +
            ": this version reads no tokenizer files; its models split text into words, without --tokenizer");
    ModelSource source = modelSource(o.model);
    if (o.noSpecial)
        throw InputError("--no-special is for models that add special tokens; " + source.name + " adds none");
    if (o.pair && source.name != "toy" && isBuiltinModel(source.name))
        throw InputError("--pair gives a key text to toy and to attention modules; " + source.name + " takes one text");
    const std::string text = textOf(o, source.name, streams);
    requireUtf8(text, o.textFile.value_or("--text"));
    if (o.pair)
        requireUtf8(*o.pair, "--pair");
    const OpenedModel opened = openModel(std::move(source));
    const std::vector<Row> rows = tokenRows(opened.model->tokenizer(), text, o.pair);
    if (o.json)
        printJson(streams.out, rows);
    else
        printTable(streams.out, rows);
    return 0;
}

} // namespace headscope::cli
