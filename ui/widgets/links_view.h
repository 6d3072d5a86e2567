// LinksView: queries left, keys right, a line for each weight, on screen: the pointer on a token shows its links alone,
// a click keeps them. Lines are painted by ui/render; all of them once, in the background, those of one token at once.
// Knows texts, links and places only; LinksPanel connects it to the workspace.
#pragma once

#include "ui/latest_wins.h"
#include "ui/render/links_painter.h"

#include <QImage>
#include <QWidget>

#include <memory>
#include <optional>

namespace headscope {

struct LinksContents {
    Links links;
    QStringList queries, keys; // texts of the places
};
using SharedLinks = std::shared_ptr<const LinksContents>;

class LinksView : public QWidget {
    Q_OBJECT
public:
    // A token of one of the two columns.
    struct Place {
        bool key = false;
        int index = 0;
        bool operator==(const Place&) const = default;
    };
    explicit LinksView(QWidget* parent = nullptr);

    void setContents(SharedLinks contents); // keeps what is pinned while the texts are as long as before
    // The cell that is pinned elsewhere: its two words are set in the accent colour.
    void setMarked(int query, int key);
    std::optional<Place> shownPlace() const { return m_hovered ? m_hovered : m_pinned; } // whose links stand alone
    std::optional<Place> pinnedPlace() const { return m_pinned; }
    int shownLinks() const; // of it, or all
    QPointF centreOf(Place place) const;
    double widthOf(double weight) const { return m_columns.widthOf(weight); } // of a line of this weight
    QString describe(Place place) const;                                      // "sat → cat 0.89, mat 0.03, …"
    void setPictureRatio(double ratio) { m_ratio = ratio; } // picture pixels for each logical one; 0: the screen's

    QSize minimumSizeHint() const override;

signals:
    void hovered(const QString& description); // empty: the pointer has left
    void pinned(std::optional<headscope::LinksView::Place> place);
    void laidOut(); // widths may be others now

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    std::optional<Place> placeAt(QPointF point) const;
    void layOut();
    void redrawAll();
    void hover(std::optional<Place> place);
    void pin(std::optional<Place> place);
    void drawLabels(QPainter& painter, bool keys) const;
    int longer() const;

    SharedLinks m_contents;
    LinkColumns m_columns;
    QImage m_all; // every link, for the present size
    std::optional<Place> m_hovered, m_pinned;
    int m_markedQuery = -1, m_markedKey = -1;
    double m_ratio = 0;
    LatestWins<QImage> m_jobs;
};

} // namespace headscope
