// What a user waits for: from one edited weight to the pixels of the heatmap, and from one wheel step to the pixels of
// the weights table. With --soak: memory and file handles over many edits and sentences. With --large: thousands of
// tokens: time to the first picture, from another head to its pixels, the longest time that the window did not answer,
// memory. With --start: from the start of the process to the first picture, once (call it twice: the second is warm).
// Runs offscreen or on a screen.
#include "core/attention/tensor_edit.h"
#include "core/model/embedded.h"
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
#include <QTimer>
#include <QToolButton>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

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

Document toyOf(int dModel, int heads, int layers, int words) {
    Document document = documentOf("toy", words);
    ModelSource source;
    source.name = "toy";
    source.toy.dModel = dModel;
    source.toy.heads = heads;
    source.toy.layers = layers;
    document.scenario = withModel(document.scenario, source);
    return document;
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

// "VmRSS", "VmHWM" (the most there was), in KiB.
long memoryOf(const char* what) {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line))
        if (line.starts_with(what))
            return std::stol(line.substr(line.find(':') + 1));
    return 0;
}

// The longest time between two turns of the event loop, while it lives.
class Heartbeat {
public:
    Heartbeat() {
        m_timer.setInterval(2);
        QObject::connect(&m_timer, &QTimer::timeout, &m_timer,
                         [this] { m_longest = std::max(m_longest, m_since.restart()); });
        m_since.start();
        m_timer.start();
    }
    qint64 longest() const { return m_longest; }

private:
    QTimer m_timer;
    QElapsedTimer m_since;
    qint64 m_longest = 0;
};

// From the choice of another head until the heatmap holds its numbers and has painted them.
double openHead(MainWindow& window, int layer, int head) {
    HeatmapView* heatmap = window.stagePanel().heatmap()->view();
    const SharedMatrix before = heatmap->contents().matrix;
    View view = window.workspace().view();
    view.layer = LayerIndex{layer};
    view.heads = {HeadIndex{head}};
    QElapsedTimer timer;
    timer.start();
    window.workspace().setView(view);
    while (heatmap->contents().matrix == before)
        QApplication::processEvents(QEventLoop::WaitForMoreEvents);
    heatmap->repaint();
    return static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

void large(const char* what, Document document, int rounds) {
    QElapsedTimer timer;
    timer.start();
    document.view.cell = CellRef{1, 0};
    document.view.heads = {HeadIndex{1}};
    MainWindow window(std::move(document), false);
    window.resize(1366, 768);
    window.show();
    QApplication::processEvents();
    const Heartbeat heart;
    while (!window.workspace().trace())
        QApplication::processEvents(QEventLoop::WaitForMoreEvents);
    const qint64 computed = timer.elapsed();
    waitUntilSettled();
    std::printf("%s: computed after %.1f s, every head surveyed after %.1f s\n", what,
                static_cast<double>(computed) / 1000, static_cast<double>(timer.elapsed()) / 1000);
    std::printf("  most memory %ld MiB, longest time without an answer %lld ms\n", memoryOf("VmHWM") / 1024,
                heart.longest());
    const ModelConfig& config = window.workspace().trace()->config();
    const Heartbeat browsing;
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
        times.push_back(openHead(window, i % config.layers, (i + 2) % config.heads));
        waitUntilSettled();
    }
    report("  another head to pixels", times);
    std::vector<double> zooms;
    HeatmapView* heatmap = window.stagePanel().heatmap()->view();
    for (int i = 0; i < rounds; ++i) {
        timer.restart();
        i % 12 == 11 ? heatmap->resetZoom() : heatmap->zoomIn();
        QApplication::processEvents(); // drawing is queued
        zooms.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
    }
    report("  a step of the zoom", zooms);
    std::printf("  most memory %ld MiB, longest time without an answer %lld ms\n", memoryOf("VmHWM") / 1024,
                browsing.longest());
}

// From the start of this process, which the system knows to a hundredth of a second.
double sinceStart() {
    std::ifstream stat("/proc/self/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string field;
    for (int i = 3; i <= 22; ++i)
        fields >> field;
    double uptime = 0;
    std::ifstream("/proc/uptime") >> uptime;
    return uptime - std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void start() {
    MainWindow window(firstDocument(), true);
    window.show();
    window.repaint();
    std::printf("window shown after  %.2f s\n", sinceStart());
    while (!window.workspace().trace())
        QApplication::processEvents(QEventLoop::WaitForMoreEvents);
    std::printf("attention after     %.2f s\n", sinceStart());
    HeatmapView* heatmap = window.stagePanel().heatmap()->view();
    while (heatmap->contents().matrix->empty())
        QApplication::processEvents(QEventLoop::WaitForMoreEvents);
    heatmap->repaint();
    std::printf("first picture after %.2f s\n", sinceStart());
    waitUntilSettled();
    std::printf("every head after    %.2f s\n", sinceStart());
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
        std::printf("%5d %-22s %10ld %8ld\n", count, what, memoryOf("VmRSS"), openHandles());
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
    const bool starts = std::any_of(argv, argv + argc, [](const char* a) { return std::strcmp(a, "--start") == 0; });
    const auto model = starts ? std::async(std::launch::async, embeddedMini) : std::future<SharedModel>(); // as main()
    QApplication app(argc, argv);
    applyTheme(makeTheme(false, false));
    const bool smoke = QApplication::arguments().contains(QStringLiteral("--smoke"));
    if (QApplication::arguments().contains(QStringLiteral("--soak"))) {
        soak(smoke ? 5 : 1000, smoke ? 5 : 200);
        return 0;
    }
    if (starts) {
        start();
        return 0;
    }
    if (QApplication::arguments().contains(QStringLiteral("--large"))) {
        const int words = smoke ? 600 : 4096;
        const int heads = smoke ? 2 : 24;
        large("toy 6 x 12, d_model 384, 4096 tokens", toyOf(384, 12, 6, words), heads);
        large("toy 12 x 12, d_model 768, 4096 tokens", toyOf(768, 12, 12, words), heads);
        large("mini, about 500 tokens", documentOf("mini", 200), heads);
        return 0;
    }
    const int rounds = smoke ? 2 : 60;
    editToPixels("toy, 64 tokens, edit to pixels", documentOf("toy", 64), rounds);
    editToPixels("mini, last layer, 12 words, edit to pixels", documentOf("mini", 12), rounds);
    scrollTable(rounds);
    hoverWalk(rounds);
    return 0;
}
