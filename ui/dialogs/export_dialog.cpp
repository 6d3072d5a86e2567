#include "ui/dialogs/export_dialog.h"

#include "ui/dialogs/save_path.h"
#include "ui/stage_text.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>

#include <algorithm>

namespace headscope {

enum Look { Light, Dark, Transparent };
static constexpr int previewDpi = 110;

ExportDialog::ExportDialog(FigureSource source, FigureSpec spec, QWidget* parent)
    : QDialog(parent), m_source(std::move(source)), m_start(std::move(spec)) {
    setWindowTitle(tr("Export the figure"));
    auto* columns = new QHBoxLayout(this);
    auto* left = new QVBoxLayout;
    auto* form = new QFormLayout;
    left->addLayout(form);
    createFields(form);
    m_facts = new QLabel;
    m_facts->setObjectName(QStringLiteral("muted"));
    m_facts->setWordWrap(true);
    left->addWidget(m_facts);
    left->addStretch();
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    m_save = buttons->addButton(tr("Save…"), QDialogButtonBox::ActionRole);
    m_save->setDefault(true);
    left->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_save, &QPushButton::clicked, this, &ExportDialog::chooseFile);
    columns->addLayout(left);
    createPreview();
    columns->addWidget(m_preview, 1);
    restoreSettings();
    resize(900, 560);
    preview();
}

void ExportDialog::createSizes(QFormLayout* form) {
    m_width = new QDoubleSpinBox;
    m_width->setRange(20, 2000);
    m_width->setToolTip(tr("Width of the whole figure"));
    form->addRow(tr("width"), m_width);
    m_height = new QDoubleSpinBox;
    m_height->setObjectName(QStringLiteral("height"));
    m_height->setSingleStep(10);
    m_height->setRange(0, 2000); // not remembered: another figure needs another one
    m_height->setSpecialValueText(tr("from the contents"));
    m_height->setToolTip(tr("Height of the whole figure; 0: as its contents need"));
    form->addRow(tr("height"), m_height);
    for (QDoubleSpinBox* size : {m_width, m_height}) {
        size->setSuffix(tr(" mm"));
        size->setDecimals(0);
    }
    m_fontSize = new QDoubleSpinBox;
    m_fontSize->setRange(4, 40);
    m_fontSize->setSuffix(tr(" pt"));
    form->addRow(tr("font size"), m_fontSize);
    m_dpi = new QSpinBox;
    m_dpi->setRange(50, 1200);
    m_dpi->setToolTip(tr("For PNG; PDF and SVG are vectors"));
    form->addRow(tr("dpi (PNG)"), m_dpi);
}

// The names that the command line takes; what the window shows is always among them.
static QComboBox* choiceOf(QStringList names, const std::string& shown) {
    auto* box = new QComboBox;
    if (!names.contains(fromUtf8(shown)))
        names << fromUtf8(shown);
    box->addItems(names);
    box->setCurrentText(fromUtf8(shown));
    return box;
}

void ExportDialog::createColors(QFormLayout* form) {
    m_look = new QComboBox;
    m_look->addItems({tr("light"), tr("dark"), tr("transparent")});
    form->addRow(tr("background"), m_look);
    m_colors = choiceOf({QStringLiteral("viridis"), QStringLiteral("cividis"), QStringLiteral("magma"),
                         QStringLiteral("inferno"), QStringLiteral("gray")},
                        std::string(colorMapName(m_start.view.colors)));
    m_colors->setToolTip(tr("Of stages without a sign; the others are orange below 0 and purple above"));
    form->addRow(tr("colours"), m_colors);
    m_range = choiceOf({QStringLiteral("auto"), QStringLiteral("head"), QStringLiteral("shared")},
                       rangeName(m_start.view.range));
    form->addRow(tr("range"), m_range);
    m_curve = choiceOf(
        {QStringLiteral("linear"), QStringLiteral("gamma:0.5"), QStringLiteral("percentile:99"), QStringLiteral("row")},
        curveName(m_start.view.curve));
    form->addRow(tr("curve"), m_curve);
}

void ExportDialog::createFields(QFormLayout* form) {
    m_figure = new QComboBox;
    for (const FigureKind kind :
         {FigureKind::Heatmap, FigureKind::Grid, FigureKind::Links, FigureKind::Stages, FigureKind::Walk})
        m_figure->addItem(fromUtf8(figureKindName(kind)), static_cast<int>(kind));
    m_figure->setCurrentIndex(m_figure->findData(static_cast<int>(m_start.view.figure)));
    form->addRow(tr("view"), m_figure);
    createSizes(form);
    createColors(form);
    m_values = new QCheckBox(tr("numbers in the cells"));
    m_values->setChecked(m_start.view.values);
    form->addRow(QString(), m_values);
    m_zoomed = new QCheckBox(tr("only what is zoomed into"));
    m_zoomed->setChecked(m_start.region.has_value());
    m_zoomed->setEnabled(m_start.region.has_value());
    m_zoomed->setToolTip(tr("Zoom into the heatmap first: its part is then a figure of its own, in the same colours"));
    form->addRow(QString(), m_zoomed);
    m_title = new QLineEdit;
    m_title->setPlaceholderText(tr("none"));
    form->addRow(tr("title"), m_title);
    for (const QComboBox* box : {m_figure, m_look, m_range, m_curve, m_colors})
        connect(box, &QComboBox::currentIndexChanged, this, &ExportDialog::preview);
    for (const QDoubleSpinBox* spin : {m_width, m_height, m_fontSize})
        connect(spin, &QDoubleSpinBox::valueChanged, this, &ExportDialog::preview);
    connect(m_dpi, &QSpinBox::valueChanged, this, &ExportDialog::preview);
    for (const QCheckBox* box : {m_values, m_zoomed})
        connect(box, &QCheckBox::toggled, this, &ExportDialog::preview);
    connect(m_title, &QLineEdit::textChanged, this, &ExportDialog::preview);
}

void ExportDialog::createPreview() {
    m_preview = new QLabel;
    m_preview->setAccessibleName(tr("Preview"));
    m_preview->setAlignment(Qt::AlignCenter);
    m_preview->setMinimumSize(360, 360);
    m_preview->setWordWrap(true);
    m_preview->setFrameShape(QFrame::StyledPanel);
}

void ExportDialog::restoreSettings() {
    QSettings settings;
    settings.beginGroup(QStringLiteral("export"));
    m_width->setValue(settings.value(QStringLiteral("width"), m_start.widthMm).toDouble());
    m_fontSize->setValue(settings.value(QStringLiteral("fontSize"), m_start.fontSizePt).toDouble());
    m_dpi->setValue(settings.value(QStringLiteral("dpi"), m_start.dpi).toInt());
    m_look->setCurrentIndex(settings.value(QStringLiteral("look"), Light).toInt());
}

void ExportDialog::rememberSettings() const {
    QSettings settings;
    settings.beginGroup(QStringLiteral("export"));
    settings.setValue(QStringLiteral("width"), m_width->value());
    settings.setValue(QStringLiteral("fontSize"), m_fontSize->value());
    settings.setValue(QStringLiteral("dpi"), m_dpi->value());
    settings.setValue(QStringLiteral("look"), m_look->currentIndex());
}

FigureSpec ExportDialog::spec() const {
    FigureSpec spec = m_start;
    spec.view.figure = static_cast<FigureKind>(m_figure->currentData().toInt());
    spec.view.range = parseRange(toUtf8(m_range->currentText()));
    spec.view.curve = parseCurve(toUtf8(m_curve->currentText()));
    spec.view.colors = colorMapFromName(toUtf8(m_colors->currentText())).value_or(m_start.view.colors);
    spec.view.values = m_values->isChecked();
    if (!m_zoomed->isChecked() || spec.view.figure != FigureKind::Heatmap)
        spec.region.reset();
    spec.widthMm = m_width->value();
    spec.heightMm = m_height->value() > 0 ? std::optional(m_height->value()) : std::nullopt;
    spec.fontSizePt = m_fontSize->value();
    spec.dpi = m_dpi->value();
    spec.dark = m_look->currentIndex() == Dark;
    spec.transparent = m_look->currentIndex() == Transparent;
    spec.title = m_title->text();
    return spec;
}

void ExportDialog::preview() {
    FigureSpec small = spec();
    const double dpi = small.dpi;
    small.dpi = previewDpi;
    const FigureSource source = m_source;
    m_previews.submit([source, small](const std::stop_token&) { return figureImage(source, small); },
                      [this, dpi](const Outcome<QImage>& outcome) {
                          const auto* failure = std::get_if<Failure>(&outcome);
                          m_save->setEnabled(!failure);
                          if (failure) {
                              m_facts->clear();
                              return m_preview->setText(failure->sentence);
                          }
                          if (const auto* picture = std::get_if<QImage>(&outcome)) {
                              m_picture = *picture;
                              const QSizeF size = QSizeF(m_picture.size()) * 25.4 / previewDpi;
                              m_facts->setText(tr("%1 × %2 mm, as PNG %3 × %4 pixels")
                                                   .arg(size.width(), 0, 'f', 0)
                                                   .arg(size.height(), 0, 'f', 0)
                                                   .arg(size.width() / 25.4 * dpi, 0, 'f', 0)
                                                   .arg(size.height() / 25.4 * dpi, 0, 'f', 0));
                              showPreview();
                          }
                      });
}

void ExportDialog::showPreview() {
    if (m_picture.isNull())
        return;
    const double ratio = devicePixelRatioF();
    QPixmap scaled = QPixmap::fromImage(
        m_picture.scaled((m_preview->size() - QSize(12, 12)) * ratio, Qt::KeepAspectRatio, Qt::SmoothTransformation));
    scaled.setDevicePixelRatio(ratio);
    m_preview->setPixmap(scaled);
}

void ExportDialog::resizeEvent(QResizeEvent* event) {
    QDialog::resizeEvent(event);
    showPreview();
}

void ExportDialog::chooseFile() {
    QSettings settings;
    const QString folder = settings.value(QStringLiteral("export/folder")).toString();
    QStringList filters{tr("PDF (*.pdf)"), tr("SVG (*.svg)"), tr("PNG (*.png)")};
    const QString before = settings.value(QStringLiteral("export/ending"), QStringLiteral("pdf")).toString();
    std::ranges::stable_partition(filters, [&](const QString& f) { return f.contains(u'.' + before + u')'); });
    const QString path = askSavePath(this, tr("Save the figure"),
                                     (folder.isEmpty() ? QString() : folder + u'/') + tr("figure"), filters);
    if (path.isEmpty())
        return;
    settings.setValue(QStringLiteral("export/folder"), QFileInfo(path).path());
    settings.setValue(QStringLiteral("export/ending"), QFileInfo(path).suffix().toLower());
    write(path);
}

void ExportDialog::write(const QString& path) {
    rememberSettings();
    m_save->setEnabled(false);
    m_facts->setText(tr("Writing %1 …").arg(path));
    const FigureSource source = m_source;
    const FigureSpec chosen = spec();
    m_writing.submit(
        [source, chosen, path](const std::stop_token&) {
            writeFigure(source, chosen, path);
            return true;
        },
        [this, path](const Outcome<bool>& outcome) {
            m_save->setEnabled(true);
            if (const auto* failure = std::get_if<Failure>(&outcome)) {
                m_facts->setText(failure->sentence);
                return;
            }
            emit written(path);
            accept();
        });
}

} // namespace headscope
