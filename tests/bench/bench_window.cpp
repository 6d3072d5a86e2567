// What a user waits for: from one edited weight to the pixels of the heatmap, and from one wheel step to the pixels of
// the weights table. With --soak: memory and file handles over many edits and sentences. Runs offscreen or on a screen.
#include "core/attention/tensor_edit.h"
#include "ui/document_session.h"
#include "ui/main_window.h"
#include "ui/screenshot.h"
#include "ui/theme.h"
#include "ui/widgets/heatmap_panel.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/walk_view.h"
#include "ui/widgets/weight_delegate.h"
#include "ui/widgets/weight_editor.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QScrollBar>
#include <QTest>
#include <QToolButton>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace headscope;

namespace {

Document documentOf(const std::string& model, int words) {
    ScenarioRequest request;
    request.source.name = model;
    std::string text;
    for (int i = 0; i < words; ++i)
        text += (i % 7 == 3 ? "cat " : i % 5 == 1 ? "the " : "w" + std::to_string(i) + " ");
    request.text = text;
    return {makeScenario(std::move(request)), View()};
}

double median(std::vector<double> times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

// One entry of W_Q of the shown head, a little larger: an edit as a dragged cell makes it.
void editOnce(Workspace& workspace, int step) {
    const Scenario& s = workspace.scenario();
    const TensorId id{workspace.view().layer, WeightKind::WQ};
    const TensorBand band = headBandOf(s.model->config(), id.kind, workspace.view().heads.front());
    const Matrix one(1, 1, 0.01F * static_cast<float>(step % 100));
    workspace.edit(QStringLiteral("bench"), withBlock(s, id, band, step % 3, step % 2, one), 4711);
}

void report(const char* what, const std::vector<double>& times) {
    std::printf("%-44s median %6.2f ms   least %6.2f   most %6.2f   (%zu)\n", what, median(times),
                *std::ranges::min_element(times), *std::ranges::max_element(times), times.size());
}

// From the edit until the heatmap holds the new numbers and has painted them.
void editToPixels(const char* what, Document document, int rounds) {
    MainWindow window(std::move(document), false);
    window.resize(1366, 768);
    window.show();
    waitUntilSettled();
    Workspace& workspace = window.workspace();
    View view = workspace.view();
    view.layer = LayerIndex{workspace.scenario().model->config().layers - 1};
    workspace.setView(view);
    waitUntilSettled();
    HeatmapView* heatmap = window.stagePanel().heatmap()->view();
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
        const SharedMatrix before = heatmap->contents().matrix;
        QElapsedTimer timer;
        timer.start();
        editOnce(workspace, i + 1);
        while (heatmap->contents().matrix == before)
            QApplication::processEvents(QEventLoop::WaitForMoreEvents);
        heatmap->repaint();
        times.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
        waitUntilSettled();
    }
    report(what, times);
}

void scrollTable(int rounds) {
    MainWindow window(documentOf("mini", 10), false);
    window.resize(1366, 768);
    window.show();
    waitUntilSettled();
    window.findChild<QToolButton*>(QStringLiteral("allHeads"))->setChecked(true); // 384 x 384
    auto* table = window.findChild<WeightTable*>();
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
        QElapsedTimer timer;
        timer.start();
        table->verticalScrollBar()->setValue(7 * i);
        table->horizontalScrollBar()->setValue(11 * i);
        table->viewport()->repaint();
        times.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
    }
    report("weights table of 384 x 384, one frame", times);
}

void hoverWalk(int rounds) {
    Document document = documentOf("mini", 12);
    document.view.figure = FigureKind::Walk;
    document.view.stage = Stage::Scores;
    MainWindow window(std::move(document), false);
    window.resize(1366, 768);
    window.show();
    waitUntilSettled();
    auto* walk = window.findChild<WalkView*>();
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
        const QPointF at = *walk->cellCentre(2, i % 10, i % 9);
        QElapsedTimer timer;
        timer.start();
        QTest::mouseMove(walk, at.toPoint());
        walk->repaint();
        times.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
    }
    report("walk, pointer to marks", times);
}

long residentKilobytes() {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line))
        if (line.starts_with("VmRSS:"))
            return std::stol(line.substr(6));
    return 0;
}

long openHandles() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

void soak(int edits, int sentences) {
    MainWindow window(documentOf("toy", 20), false);
    window.resize(1366, 768);
    window.show();
    waitUntilSettled();
    std::printf("%-28s %10s %8s\n", "after", "KiB", "handles");
    const auto line = [](const char* what, int count) {
        std::printf("%5d %-22s %10ld %8ld\n", count, what, residentKilobytes(), openHandles());
    };
    for (int i = 0; i <= edits; ++i) {
        if (i % std::max(1, edits / 5) == 0)
            line("edits", i);
        editOnce(window.workspace(), i + 1);
        waitUntilSettled();
    }
    for (int i = 0; i <= sentences; ++i) {
        if (i % std::max(1, sentences / 5) == 0)
            line("sentences", i);
        window.sentenceBar().setText(QStringLiteral("sentence number %1 of many about a cat").arg(i));
        waitUntilSettled();
    }
}

} // namespace

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    applyTheme(makeTheme(false, false));
    const bool smoke = QApplication::arguments().contains(QStringLiteral("--smoke"));
    if (QApplication::arguments().contains(QStringLiteral("--soak"))) {
        soak(smoke ? 5 : 1000, smoke ? 5 : 200);
        return 0;
    }
    const int rounds = smoke ? 2 : 60;
    editToPixels("toy, 64 tokens, edit to pixels", documentOf("toy", 64), rounds);
    editToPixels("mini, last layer, 12 words, edit to pixels", documentOf("mini", 12), rounds);
    scrollTable(rounds);
    hoverWalk(rounds);
    return 0;
}
