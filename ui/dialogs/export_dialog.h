// ExportDialog: what the figure will look like, before it is written: view, size, resolution, light, dark or
// transparent, range, curve, colours, numbers, title, with a preview drawn by the same painter. Remembers its settings.
#pragma once

#include "ui/latest_wins.h"
#include "ui/render/figure.h"

#include <QDialog>
#include <QImage>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace headscope {

class ExportDialog : public QDialog {
    Q_OBJECT
public:
    // spec: what the window shows; remembered settings are laid over it.
    ExportDialog(FigureSource source, FigureSpec spec, QWidget* parent = nullptr);

    FigureSpec spec() const;
    void write(const QString& path); // in the background; closes when done, says why not otherwise

protected:
    void resizeEvent(QResizeEvent* event) override;

signals:
    void written(const QString& path);

private:
    void createSizes(QFormLayout* form);
    void createColors(QFormLayout* form);
    void createFields(QFormLayout* form);
    void createPreview();
    void restoreSettings();
    void rememberSettings() const;
    void preview();
    void showPreview();
    void chooseFile();

    FigureSource m_source;
    FigureSpec m_start;
    QComboBox *m_figure, *m_look, *m_range, *m_curve, *m_colors;
    QDoubleSpinBox *m_width, *m_height;
    QDoubleSpinBox* m_fontSize;
    QSpinBox* m_dpi;
    QCheckBox *m_values, *m_zoomed;
    QLineEdit* m_title;
    QLabel *m_preview, *m_facts;
    QPushButton* m_save;
    QImage m_picture;
    LatestWins<QImage> m_previews;
    LatestWins<bool> m_writing;
};

} // namespace headscope
