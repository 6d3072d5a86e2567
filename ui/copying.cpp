#include "ui/copying.h"

#include "core/analysis/shown.h"
#include "core/exchange/scenario_file.h"
#include "core/tensor/errors.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/number_block.h"
#include "ui/workspace.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QPainter>
#include <QPrintDialog>
#include <QPrinter>

namespace headscope {

FigureSource figureSource(const Workspace& workspace) {
    return {workspace.trace(), workspace.rightTrace()};
}

FigureSpec figureSpec(const Workspace& workspace) {
    FigureSpec spec;
    spec.view = clampedView(workspace.view(), workspace.trace()->scenario);
    spec.dark = theme().dark;
    spec.document = fromUtf8(writeScenario({workspace.trace()->scenario, spec.view}));
    return spec;
}

void copyPicture(const Workspace& workspace) {
    if (workspace.trace())
        QGuiApplication::clipboard()->setImage(figureImage(figureSource(workspace), figureSpec(workspace)));
}

QString tableText(const Workspace& workspace) {
    const View& view = workspace.view();
    const ShownStage table = shownHeads(*workspace.trace(), view);
    constexpr std::size_t mostCells = 1 << 20; // some ten megabytes of text
    if (table.matrix->size() > mostCells)
        throw InputError(std::to_string(table.matrix->rows()) + " x " + std::to_string(table.matrix->cols()) +
                         " numbers are too many for the clipboard; write them with `headscope dump`");
    QString text;
    for (const ShownAxis::Place& col : table.cols.places)
        text += u'\t' + fromUtf8(col.label);
    text += u'\n';
    for (int r = 0; r < table.matrix->rows(); ++r) {
        text += fromUtf8(table.rows.places[static_cast<std::size_t>(r)].label);
        for (const float value : table.matrix->row(r))
            text += u'\t' + shortestNumber(value, QLocale::c());
        text += u'\n';
    }
    return text;
}

void copyTable(Workspace& workspace) {
    try {
        if (workspace.trace())
            QGuiApplication::clipboard()->setText(tableText(workspace));
    } catch (const InputError& error) {
        emit workspace.noted(fromUtf8(error.what()));
    }
}

void printFigure(const Workspace& workspace, QWidget* window) {
    if (!workspace.trace())
        return;
    QPrinter printer(QPrinter::ScreenResolution); // fonts in points follow the device: keep 96 per inch
    QPrintDialog dialog(&printer, window);
    if (dialog.exec() == QDialog::Accepted)
        printFigure(workspace, printer);
}

void printFigure(const Workspace& workspace, QPrinter& printer) {
    FigureSpec spec = figureSpec(workspace);
    spec.dark = false; // paper is white
    const FigureSource source = figureSource(workspace);
    const QRectF page = printer.pageRect(QPrinter::Millimeter);
    spec.widthMm = page.width();
    const QSizeF size = figureSizeMm(source, spec);
    const double shrink = std::min(1.0, page.height() / size.height());
    const double perUnit = printer.resolution() / 96.0 * shrink;
    QPainter painter(&printer);
    painter.setRenderHint(QPainter::LosslessImageRendering);
    painter.scale(perUnit, perUnit);
    paintFigure(painter, source, spec);
}

} // namespace headscope
