// ViewControls: one quiet row of menus under the picture: several heads combined, threshold and top-k of links, range,
// curve, colours, numbers (the view) and mask, scale, temperature (the scenario, undoable). Each button says its
// present value.
#pragma once

#include <QWidget>

#include "core/attention/view.h" // after Qt: moc cannot read <compare> before a Qt header

#include <functional>
#include <vector>

class QLabel;
class QSlider;
class QMenu;
class QToolButton;

namespace headscope {

class Workspace;

class ViewControls : public QWidget {
    Q_OBJECT
public:
    explicit ViewControls(Workspace& workspace, QWidget* parent = nullptr);
    static QString combineName(Combine how); // of several heads: "each", "mean", "max"

    // The choices once more for the menu bar: of the picture, and of what is computed.
    QList<QMenu*> pictureMenus() const;
    QList<QMenu*> computeMenus() const;

signals:
    void exportRequested();
    void problem(const QString& sentence); // something typed or a file cannot be used: why

private:
    QToolButton* addMenu(const QString& name, const QString& what);
    void createCombine();
    void createLinks();
    void createRange();
    void createCurve();
    void createColors();
    void createValues();
    void createMask();
    void createScale();
    void createTemperature();
    // isChosen: whether it is the present one; empty for what asks for more.
    void addChoice(QToolButton* button, const QString& label, const std::function<void()>& choose,
                   const std::function<bool()>& isChosen = {});
    // Asks for a text and hands it on; an InputError of `use` becomes problem().
    void ask(const QString& title, const QString& label, const QString& present,
             const std::function<void(const QString&)>& use);
    void setMask(const QString& name);
    void setScale(const QString& name);
    void setTemperature(const QString& text);
    void openMaskFile();
    void refresh();
    void refreshLinks();

    Workspace& m_workspace;
    QToolButton *m_range, *m_curve, *m_colors, *m_values, *m_mask, *m_scale, *m_temperature, *m_combine;
    QWidget* m_links; // what only links have
    QSlider *m_threshold, *m_top;
    QLabel *m_thresholdText, *m_topText;
};

} // namespace headscope
