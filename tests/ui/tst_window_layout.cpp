// Nothing is cut off and nothing overlaps: the widget tree is walked at the sizes that matter, light and dark, with
// short and long texts.
#include "ui/document_session.h"
#include "ui/main_window.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/cell_inspector.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/weight_delegate.h"

#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <QImage>
#include <QLabel>
#include <QLayout>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTest>
#include <QTextCursor>
#include <QTextDocument>

using namespace headscope;

namespace {

QString nameOf(const QWidget* widget) {
    QString name = QString::fromLatin1(widget->metaObject()->className());
    if (const auto* label = qobject_cast<const QLabel*>(widget))
        name += u' ' + label->text().left(50);
    if (const auto* button = qobject_cast<const QAbstractButton*>(widget))
        name += u' ' + button->text();
    for (const QWidget* p = widget->parentWidget(); p; p = p->parentWidget())
        if (!p->objectName().isEmpty() || p->isWindow())
            return name + QStringLiteral(" in ") + p->metaObject()->className();
    return name;
}

// What lies in a scroll area may be larger than it: that is what it scrolls.
bool scrolls(const QWidget* widget) {
    for (const QWidget* p = widget; p; p = p->parentWidget())
        if (qobject_cast<const QAbstractScrollArea*>(p->parentWidget()))
            return true;
    return false;
}

// Nobody sees what is in a panel behind another tab; Qt keeps it outside the window.
bool isBehindTab(const QWidget* widget) {
    for (const QWidget* p = widget; p; p = p->parentWidget())
        if (p->inherits("QDockWidget") && p->visibleRegion().isEmpty())
            return true;
    return false;
}

void checkText(const QWidget* widget) {
    if (const auto* label = qobject_cast<const QLabel*>(widget); label && !label->text().isEmpty()) {
        QTextDocument text;
        text.setDocumentMargin(0);
        text.setDefaultFont(label->font());
        if (Qt::mightBeRichText(label->text()) || label->textFormat() == Qt::RichText)
            text.setHtml(label->text());
        else
            text.setPlainText(label->text());
        if (label->wordWrap())
            text.setTextWidth(label->contentsRect().width());
        const QSizeF needed = text.size();
        const QSize room = label->contentsRect().size();
        QVERIFY2(needed.width() <= room.width() + 2 && needed.height() <= room.height() + 4,
                 qPrintable(QStringLiteral("%1 needs %2x%3, has %4x%5")
                                .arg(nameOf(label))
                                .arg(needed.width())
                                .arg(needed.height())
                                .arg(room.width())
                                .arg(room.height())));
    }
    if (const auto* button = qobject_cast<const QAbstractButton*>(widget); button && !button->text().isEmpty()) {
        const int needed = button->fontMetrics().horizontalAdvance(button->text());
        QVERIFY2(button->inherits("headscope::StepButton") || needed <= button->width(),
                 qPrintable(nameOf(button) + QStringLiteral(" is cut off")));
        QVERIFY2(button->height() >= button->fontMetrics().height(), qPrintable(nameOf(button)));
    }
}

void checkPlace(const QWidget* widget) {
    const QWidget* parent = widget->parentWidget();
    if (widget->isWindow() || !parent)
        return;
    QVERIFY2(parent->rect().contains(widget->geometry()),
             qPrintable(nameOf(widget) + QStringLiteral(" reaches out of its parent")));
}

void checkSiblings(const QWidget* widget) {
    const QLayout* layout = widget->layout();
    if (!layout)
        return;
    QList<QWidget*> children;
    for (QWidget* child : widget->findChildren<QWidget*>(Qt::FindDirectChildrenOnly))
        if (child->isVisible() && !child->testAttribute(Qt::WA_TransparentForMouseEvents) && !child->isWindow())
            children << child;
    for (int i = 0; i < children.size(); ++i)
        for (int j = i + 1; j < children.size(); ++j)
            QVERIFY2(!children[i]->geometry().intersects(children[j]->geometry()),
                     qPrintable(nameOf(children[i]) + QStringLiteral(" overlaps ") + nameOf(children[j])));
}

void checkTree(const QWidget& window) {
    for (const QWidget* widget : window.findChildren<QWidget*>()) {
        if (!widget->isVisible() || scrolls(widget) || isBehindTab(widget))
            continue;
        checkPlace(widget);
        checkText(widget);
        checkSiblings(widget);
        if (QTest::currentTestFailed())
            return;
    }
}

Document documentOfLength(int tokens) {
    Document document = firstDocument();
    if (tokens > 6)
        document.scenario =
            withTexts(document.scenario, toUtf8(QStringLiteral("The cat sat on ").repeated(tokens / 4)), std::nullopt);
    return document;
}

void showWindow(MainWindow& window, QSize size, bool dark, bool projector) {
    window.setLook(dark, projector);
    window.resize(size);
    window.show();
    waitUntilSettled();
    QCOMPARE(window.size(), size);
}

} // namespace

class TestWindowLayout : public QObject {
    Q_OBJECT
private slots:
    void nothingIsCutOffAndNothingOverlaps_data() {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<int>("tokens");
        QTest::addColumn<bool>("dark");
        QTest::addColumn<bool>("projector");
        for (const QSize size : {QSize(1366, 768), QSize(1920, 1080)})
            for (const int tokens : {6, 32, 200})
                for (const bool dark : {false, true})
                    QTest::addRow("%dx%d, %d tokens, %s", size.width(), size.height(), tokens, dark ? "dark" : "light")
                        << size << tokens << dark << false;
        for (const QSize size : {QSize(1280, 720), QSize(1024, 768)})
            QTest::addRow("projector %dx%d", size.width(), size.height()) << size << 6 << false << true;
        for (const QSize size : {QSize(1024, 768), QSize(960, 540), QSize(800, 600), QSize(683, 768)}) // half a screen
            for (const int tokens : {6, 200})
                QTest::addRow("small %dx%d, %d tokens", size.width(), size.height(), tokens)
                    << size << tokens << false << false;
    }

    void nothingIsCutOffAndNothingOverlaps() {
        QFETCH(const QSize, size);
        QFETCH(const int, tokens);
        QFETCH(const bool, dark);
        QFETCH(const bool, projector);
        MainWindow window(documentOfLength(tokens), false);
        showWindow(window, size, dark, projector);
        for (const Stage stage : {Stage::Weights, Stage::Q, Stage::ProjectionK, Stage::Concat, Stage::Norms}) {
            View view = window.workspace().view();
            view.stage = stage;
            window.workspace().setView(view);
            waitUntilSettled();
            checkTree(window);
        }
    }

    // The picture is the size that was asked for, times the scale, whatever is shown: the window fits a small screen.
    void aScreenshotIsTheSizeTimesTheScale_data() {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<double>("scale");
        QTest::addColumn<bool>("projector");
        for (const QSize size : {QSize(1024, 768), QSize(1366, 768)})
            QTest::addRow("%dx%d", size.width(), size.height()) << size << 1.0 << false;
        QTest::addRow("1366x768 at 1.5") << QSize(1366, 768) << 1.5 << false;
        QTest::addRow("projector 1280x720") << QSize(1280, 720) << 1.0 << true;
        QTest::addRow("projector 1024x768") << QSize(1024, 768) << 2.0 << true;
    }

    void aScreenshotIsTheSizeTimesTheScale() {
        QFETCH(const QSize, size);
        QFETCH(const double, scale);
        QFETCH(const bool, projector);
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("window.png"));
        ModelSource manyHeads, twoTexts;
        manyHeads.name = twoTexts.name = "toy";
        manyHeads.toy.dModel = 144;
        manyHeads.toy.layers = manyHeads.toy.heads = 12;
        twoTexts.cross = true;
        std::vector<Document> documents{documentOfLength(6), documentOfLength(200), documentOfLength(6),
                                        documentOfLength(6)};
        documents[2].scenario = withModel(documents[2].scenario, manyHeads);
        documents[3].scenario = withModel(documents[3].scenario, twoTexts);
        if (scale != 1)
            documents.resize(1); // large pictures take their time
        for (const Document& document : documents) {
            ScreenshotSpec spec;
            spec.document = document;
            spec.size = size;
            spec.scaleFactor = scale;
            spec.projector = projector;
            writeScreenshot(spec, path);
            QCOMPARE(QImage(path).size(), (QSizeF(size) * scale).toSize());
        }
    }

    void theArithmeticAndFourRowsOfWeightsAreSeenOnALaptop_data() {
        QTest::addColumn<double>("temperature");
        QTest::addColumn<bool>("translates");
        QTest::newRow("six words") << 1.0 << false;
        QTest::newRow("a step more: the temperature") << 0.5 << false;
        QTest::newRow("less room: two texts") << 1.0 << true;
        QTest::newRow("both") << 0.5 << true;
    }
    void theArithmeticAndFourRowsOfWeightsAreSeenOnALaptop() {
        QFETCH(double, temperature);
        QFETCH(bool, translates);
        Document document = documentOfLength(6);
        ModelSource translate;
        translate.name = "translate";
        if (translates)
            document.scenario = withModel(document.scenario, translate);
        document.scenario.temperature = temperature;
        document.view.cell = CellRef{2, 1};
        MainWindow window(std::move(document), false);
        showWindow(window, QSize(1366, 768), false, false);
        auto* inspector = window.findChild<CellInspector*>();
        QCOMPARE(inspector->verticalScrollBar()->value(), 0);
        QTextCursor result(inspector->document());
        for (QTextCursor next = result; !next.isNull(); // the last line of that name
             next = inspector->document()->find(QStringLiteral("weight"), next, QTextDocument::FindCaseSensitively))
            result = next;
        QVERIFY(result.hasSelection());
        QVERIFY2(inspector->cursorRect(result).bottom() < inspector->viewport()->height(),
                 qPrintable(QStringLiteral("%1 in %2")
                                .arg(inspector->cursorRect(result).bottom())
                                .arg(inspector->viewport()->height())));
        const auto* table = window.findChild<WeightTable*>();
        QVERIFY(table->rowAt(0) == 0);
        QVERIFY2(table->viewport()->height() >= (translates ? 3 : 4) * table->rowHeight(0),
                 qPrintable(QString::number(double(table->viewport()->height()) / table->rowHeight(0))));
    }

    void aMessageAndASecondTextLeaveTheWindowWhole() {
        Document document = documentOfLength(6);
        ModelSource toy;
        toy.name = "toy";
        document.scenario = withModel(document.scenario, toy);
        MainWindow window(document, false);
        showWindow(window, QSize(1366, 768), false, false);
        window.sentenceBar().setSecondText(true);
        waitUntilSettled();
        emit window.workspace().failed(
            QStringLiteral("The mask has 5 x 5 cells and the texts have 6 x 6 tokens; choose another mask."));
        waitUntilSettled();
        QVERIFY(!window.messages().sentence().isEmpty());
        QCOMPARE(window.size(), QSize(1366, 768));
        checkTree(window);
    }
};

QTEST_MAIN(TestWindowLayout)
#include "tst_window_layout.moc"
