#include "ui/widgets/view_controls.h"

#include "core/exchange/mask_file.h"
#include "ui/merge_ids.h"
#include "ui/stage_text.h"
#include "ui/unchangeable.h"
#include "ui/widgets/number_block.h"
#include "ui/widgets/ticked.h"
#include "ui/widgets/wrap_layout.h"
#include "ui/workspace.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QInputDialog>
#include <QLabel>
#include <QMenu>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace headscope {

// Changes one field of the view.
template<class Change>
static void changeView(Workspace& workspace, Change change) {
    View view = workspace.view();
    change(view);
    workspace.setView(view);
}

ViewControls::ViewControls(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    auto* row = new WrapLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    createCombine();
    createLinks();
    createRange();
    createCurve();
    createColors();
    createValues();
    createMask();
    createScale();
    createTemperature();
    auto* exportButton = new QToolButton;
    exportButton->setText(tr("Export…"));
    exportButton->setObjectName(QStringLiteral("small"));
    exportButton->setToolTip(tr("Save this figure as PNG, SVG or PDF (Ctrl+E)"));
    connect(exportButton, &QToolButton::clicked, this, &ViewControls::exportRequested);
    row->addWidget(exportButton);
    connect(&workspace, &Workspace::scenarioChanged, this, &ViewControls::refresh);
    connect(&workspace, &Workspace::viewChanged, this, &ViewControls::refresh);
    refresh();
}

QToolButton* ViewControls::addMenu(const QString& name, const QString& what) {
    auto* button = new QToolButton;
    button->setPopupMode(QToolButton::InstantPopup);
    button->setObjectName(QStringLiteral("small")); // all in one line at 1366 pixels
    button->setToolTip(what);
    button->setAccessibleName(what);
    button->setMenu(new QMenu(name, button));
    layout()->addWidget(button);
    return button;
}

QList<QMenu*> ViewControls::pictureMenus() const {
    return {m_range->menu(), m_curve->menu(), m_colors->menu(), m_combine->menu()};
}

QList<QMenu*> ViewControls::computeMenus() const {
    return {m_mask->menu(), m_scale->menu(), m_temperature->menu()};
}

void ViewControls::addChoice(QToolButton* button, const QString& label, const std::function<void()>& choose,
                             const std::function<bool()>& isChosen) {
    QAction* action = button->menu()->addAction(label);
    connect(action, &QAction::triggered, this, choose);
    if (isChosen)
        tickWhere(button->menu(), action, isChosen);
}

// A typed number as the locale writes it, else with a point, in the form that core reads; names pass unchanged.
static std::string canonicalNumber(const QString& text) {
    const std::optional<float> number = parseNumber(text);
    return number ? toUtf8(shortestNumber(*number, QLocale::c())) : toUtf8(text);
}

// The same for numbers with a colon between them or behind a name: "0,2:0,8", "gamma:0,7".
static std::string canonicalNumbers(const QString& text) {
    std::string canonical;
    for (const QString& part : text.split(u':'))
        canonical += (canonical.empty() ? "" : ":") + canonicalNumber(part.trimmed());
    return canonical;
}

// Only where several heads are picked.
void ViewControls::createCombine() {
    m_combine = addMenu(tr("Se&veral heads"),
                        tr("Several picked heads: beside each other, or the mean or the maximum of each cell"));
    for (const Combine how : {Combine::None, Combine::Mean, Combine::Max})
        addChoice(
            m_combine, combineName(how),
            [this, how] { changeView(m_workspace, [how](View& view) { view.combine = how; }); },
            [this, how] { return m_workspace.view().combine == how; });
}

QString ViewControls::combineName(Combine how) {
    return how == Combine::None ? tr("each") : how == Combine::Mean ? tr("mean") : tr("max");
}

// Threshold and top-k, only for links. Small weights are the interesting ones: the slider is finer there.
void ViewControls::createLinks() {
    m_links = new QWidget;
    auto* row = new QHBoxLayout(m_links);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(4);
    const auto slider = [row](const QString& name, int least, int most) {
        auto* made = new QSlider(Qt::Horizontal);
        made->setRange(least, most);
        made->setFixedWidth(76);
        made->setAccessibleName(name);
        made->setToolTip(name);
        row->addWidget(made);
        return made;
    };
    m_threshold = slider(tr("Threshold: links of a smaller weight are not drawn"), 0, 100);
    row->addWidget(m_thresholdText = new QLabel);
    m_top = slider(tr("Top k: only the strongest links of each query"), 1, 17);
    row->addWidget(m_topText = new QLabel);
    layout()->addWidget(m_links);
    connect(m_threshold, &QSlider::valueChanged, this, [this](int place) {
        changeView(m_workspace, [place](View& view) { view.threshold = std::round(place * place / 10.0) / 1000; });
    });
    connect(m_top, &QSlider::valueChanged, this, [this](int k) {
        changeView(m_workspace,
                   [this, k](View& view) { view.topK = k < m_top->maximum() ? std::optional(k) : std::nullopt; });
    });
}

void ViewControls::refreshLinks() {
    const View& view = m_workspace.view();
    m_links->setVisible(view.figure == FigureKind::Links);
    const QSignalBlocker blocked[] = {QSignalBlocker(m_threshold), QSignalBlocker(m_top)};
    m_threshold->setValue(static_cast<int>(std::lround(100 * std::sqrt(std::clamp(view.threshold, 0.0, 1.0)))));
    m_top->setValue(view.topK.value_or(m_top->maximum()));
    m_thresholdText->setText(view.threshold > 0 ? tr("≥ %1").arg(QLocale().toString(view.threshold, 'g', 3))
                                                : tr("all weights"));
    m_topText->setText(view.topK ? tr("top %1").arg(*view.topK) : tr("all keys"));
    // So that the row does not move while a slider is dragged.
    m_thresholdText->setMinimumWidth(fontMetrics().horizontalAdvance(tr("all weights")));
    m_links->setMinimumHeight(m_mask->sizeHint().height()); // in line with the buttons
    m_topText->setMinimumWidth(fontMetrics().horizontalAdvance(tr("all keys")));
}

void ViewControls::createRange() {
    m_range = addMenu(tr("&Range of colours"), tr("Range of the colours: which numbers the two ends stand for"));
    const auto choose = [this](const QString& name) {
        changeView(m_workspace, [&](View& view) { view.range = parseRange(canonicalNumbers(name)); });
    };
    const std::pair<QString, QString> ranges[] = {
        {tr("auto: 0 to 1 for weights, else this head"), QStringLiteral("auto")},
        {tr("this head: smallest to largest"), QStringLiteral("head")},
        {tr("shared by all heads of the layer"), QStringLiteral("shared")}};
    for (const auto& [label, name] : ranges)
        addChoice(
            m_range, label, [choose, name = name] { choose(name); },
            [this, name = toUtf8(name)] { return rangeName(m_workspace.view().range) == name; });
    addChoice(m_range, tr("fixed…"), [this, choose] {
        ask(tr("Range"), tr("Lowest and highest number, LO:HI"), QStringLiteral("0:1"), choose);
    });
}

void ViewControls::createCurve() {
    m_curve = addMenu(tr("Cur&ve of colours"),
                      tr("Curve: how numbers become colours inside the range; the colour bar follows"));
    const auto choose = [this](const QString& name) {
        changeView(m_workspace, [&](View& view) { view.curve = parseCurve(canonicalNumbers(name)); });
    };
    const std::pair<QString, QString> curves[] = {
        {tr("linear"), QStringLiteral("linear")},
        {tr("gamma 0.5: small weights brighter"), QStringLiteral("gamma:0.5")},
        {tr("cut at the 99th percentile"), QStringLiteral("percentile:99")},
        {tr("every row to its own maximum"), QStringLiteral("row")}};
    for (const auto& [label, name] : curves)
        addChoice(
            m_curve, label, [choose, name = name] { choose(name); },
            [this, name = toUtf8(name)] { return curveName(m_workspace.view().curve) == name; });
    addChoice(m_curve, tr("other…"), [this, choose] {
        ask(tr("Curve"), tr("linear, gamma:G, percentile:P or row"),
            QStringLiteral("gamma:%1").arg(QLocale().toString(0.7)), choose);
    });
}

void ViewControls::createColors() {
    m_colors =
        addMenu(tr("&Colours"), tr("Colours of weights; signed numbers are always orange below 0 and purple above"));
    for (const ColorMap map :
         {ColorMap::Viridis, ColorMap::Cividis, ColorMap::Magma, ColorMap::Inferno, ColorMap::Gray})
        addChoice(
            m_colors, fromUtf8(colorMapName(map)),
            [this, map] { changeView(m_workspace, [&](View& view) { view.colors = map; }); },
            [this, map] { return m_workspace.view().colors == map; });
}

void ViewControls::createValues() {
    m_values = new QToolButton;
    m_values->setText(tr("1.0"));
    m_values->setCheckable(true);
    m_values->setObjectName(QStringLiteral("small"));
    m_values->setToolTip(tr("Write the numbers into the cells where they fit (Ctrl+Shift+V)"));
    m_values->setAccessibleName(tr("Numbers in cells"));
    connect(m_values, &QToolButton::clicked, this,
            [this](bool on) { changeView(m_workspace, [&](View& view) { view.values = on; }); });
    layout()->addWidget(m_values);
}

void ViewControls::createMask() {
    m_mask = addMenu(tr("&Mask"), tr("Mask: which keys a query may attend to"));
    const std::pair<QString, QString> plain[] = {
        {tr("the model's own"), QStringLiteral("model")},
        {tr("none"), QStringLiteral("none")},
        {tr("causal: only itself and what came before"), QStringLiteral("causal")}};
    for (const auto& [label, name] : plain)
        addChoice(
            m_mask, label, [this, name = name] { setMask(name); },
            [this, name = toUtf8(name)] { return maskName(m_workspace.scenario().mask) == name; });
    const std::pair<QString, QString> sized[] = {
        {tr("window of neighbours…"), QStringLiteral("window:2")},
        {tr("prefix: causal after the first P keys…"), QStringLiteral("prefix:2")},
        {tr("padding: the last K keys closed…"), QStringLiteral("padding:1")},
        {tr("several, joined by +…"), QStringLiteral("causal+window:2")}};
    for (const auto& [label, sample] : sized)
        addChoice(m_mask, label, [this, sample = sample] {
            ask(tr("Mask"), tr("none, causal, window:W, prefix:P, padding:K; + joins"), sample,
                [this](const QString& text) { setMask(text); });
        });
    addChoice(m_mask, tr("from a file…"), [this] { openMaskFile(); });
}

void ViewControls::createScale() {
    m_scale = addMenu(tr("&Scale"), tr("Scale: what the scores are multiplied by"));
    const std::pair<QString, QString> scales[] = {{tr("1/√d_k (as in the paper)"), QStringLiteral("sqrt_dk")},
                                                  {tr("none: raw scores"), QStringLiteral("none")}};
    for (const auto& [label, name] : scales)
        addChoice(
            m_scale, label, [this, name = name] { setScale(name); },
            [this, name = toUtf8(name)] { return scaleName(m_workspace.scenario().scale) == name; });
    addChoice(m_scale, tr("a number…"), [this] {
        ask(tr("Scale"), tr("The scores are multiplied by"), QLocale().toString(0.5),
            [this](const QString& text) { setScale(text); });
    });
}

void ViewControls::createTemperature() {
    m_temperature =
        addMenu(tr("&Temperature"), tr("Temperature: divides the masked scores; 0 takes the largest, ∞ shares evenly"));
    for (const char* text : {"0", "0.1", "0.5", "1", "2", "5", "inf"}) {
        const QString name = QString::fromLatin1(text);
        const QString label = name == QLatin1String("inf") ? tr("∞: uniform")
                              : name == QLatin1String("0") ? tr("0: argmax")
                                                           : name;
        addChoice(
            m_temperature, label, [this, name] { setTemperature(name); },
            [this, t = parseTemperature(text)] { return m_workspace.scenario().temperature == t; });
    }
    addChoice(m_temperature, tr("other…"), [this] {
        ask(tr("Temperature"), tr("A number of at least 0, or inf"), QLocale().toString(0.7),
            [this](const QString& text) { setTemperature(text); });
    });
}

void ViewControls::ask(const QString& title, const QString& label, const QString& present,
                       const std::function<void(const QString&)>& use) {
    bool accepted = false;
    const QString text = QInputDialog::getText(window(), title, label, QLineEdit::Normal, present, &accepted);
    if (!accepted)
        return;
    try {
        use(text.trimmed());
    } catch (const InputError& error) {
        emit problem(fromUtf8(error.what()));
    }
}

void ViewControls::setMask(const QString& name) {
    Scenario next = m_workspace.scenario();
    next.mask = parseMask(toUtf8(name));
    m_workspace.edit(tr("Mask %1").arg(fromUtf8(maskName(next.mask))), next);
}

void ViewControls::openMaskFile() {
    const QString path = QFileDialog::getOpenFileName(window(), tr("Open a mask of n × m numbers"), {},
                                                      tr("Matrices (*.npy *.npz *.csv *.safetensors)"));
    if (path.isEmpty())
        return;
    try {
        Scenario next = m_workspace.scenario();
        MaskPart part;
        part.kind = MaskPart::Kind::Matrix;
        part.additive = readMaskFile(toUtf8(path));
        next.mask = Mask{{part}};
        m_workspace.edit(tr("Mask from a file"), next);
    } catch (const InputError& error) {
        emit problem(fromUtf8(error.what()));
    }
}

void ViewControls::setScale(const QString& name) {
    Scenario next = m_workspace.scenario();
    next.scale = parseScale(canonicalNumber(name));
    m_workspace.edit(tr("Scale %1").arg(fromUtf8(scaleName(next.scale))), next, mergeScale);
}

void ViewControls::setTemperature(const QString& text) {
    Scenario next = m_workspace.scenario();
    next.temperature = parseTemperature(canonicalNumber(text));
    m_workspace.edit(tr("Temperature %1").arg(text), next, mergeTemperature);
}

void ViewControls::refresh() {
    const Scenario& scenario = m_workspace.scenario();
    const View& view = m_workspace.view();
    if (!scenario.model)
        return;
    refreshLinks();
    const bool isLinks = view.figure == FigureKind::Links;
    m_combine->setVisible(view.heads.size() > 1 && (isLinks || view.figure == FigureKind::Heatmap) &&
                          stageInfo(view.stage).scope != StageScope::AllHeads);
    for (QToolButton* colours : {m_range, m_curve, m_colors, m_values})
        colours->setVisible(!isLinks);
    const bool isSigned = stageInfo(view.stage).isSigned;
    const QString arrow = QStringLiteral(" ▾");
    m_combine->setText(combineName(view.combine) + arrow);
    m_range->setText(tr("range: %1").arg(fromUtf8(rangeName(view.range))) + arrow);
    m_curve->setText(fromUtf8(curveName(view.curve)) + arrow);
    m_colors->setText((isSigned ? QStringLiteral("puor") : fromUtf8(colorMapName(view.colors))) + arrow);
    m_colors->setEnabled(!isSigned);
    m_values->setChecked(view.values);
    const QString mask = fromUtf8(maskName(scenario.mask));
    const qsizetype byHand = cellsMaskedByHand(scenario);
    m_mask->setText((mask == QLatin1String("model") ? tr("mask: model's") : tr("mask: %1").arg(mask)) +
                    (byHand > 0 ? tr(" + %1 by hand").arg(byHand) : QString()) + arrow);
    m_scale->setText(scaleText(scenario) + arrow);
    const double t = scenario.temperature;
    m_temperature->setText(tr("T %1").arg(std::isinf(t) ? QStringLiteral("∞") : QLocale().toString(t, 'g', 4)) + arrow);
    const QString why = whyUnchangeable(scenario);
    for (QToolButton* computed : {m_mask, m_scale, m_temperature}) {
        computed->setEnabled(why.isEmpty());
        computed->setToolTip(why.isEmpty() ? computed->accessibleName() : why);
    }
    for (const QToolButton* button : {m_combine, m_range, m_curve, m_colors, m_mask, m_scale, m_temperature})
        button->menu()->menuAction()->setEnabled(button->isEnabled() && !button->isHidden());
    if (!why.isEmpty()) // nobody knows which they were
        for (QToolButton* computed : {m_mask, m_scale, m_temperature})
            computed->setText(computed == m_mask ? tr("mask") : computed == m_scale ? tr("scale") : tr("T"));
}

} // namespace headscope
